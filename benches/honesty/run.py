#!/usr/bin/env python3
"""Do stated intervals hold? `make bench-honesty`, or `benches/honesty/run.py`. README.md beside this says how.

Prints Markdown tables; `--json FILE` writes the same with all digits. Exit status 1 when a bar is missed: a stated 95 %
interval holds the truth in at least 90 of 100 cases, two equal measurements are called different in at most 5.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path

from honesty import synthetic
from honesty.real import Busy, endpoint, repeated
from honesty.rows import Row, table
from honesty.scenes import ALL, BEYOND
from honesty.tables import SCENES, tables

BEYOND_WHAT_IS_SEEN = "No bar: what a few seconds cannot see"
REAL = "Real engine against itself"
TABLES = 20
"""A table takes milliseconds. So many a third of ``--times``: with 40 tables a share of 4 % was met as 12.5 %."""


def main() -> int:
    """Run what was asked for."""
    words = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    quick = bool(os.environ.get("QUICK"))
    words.add_argument("--times", type=int, default=60 if quick else 300, help="pairs a known series; 0: none")
    words.add_argument("--pairs", type=int, default=4 if quick else 100, help="real pairs an endpoint; 0: none")
    words.add_argument("--real", default="cache,target,disk", help="their endpoints")
    words.add_argument("--only", help="series whose name holds this")
    words.add_argument("--dir", type=Path, default=Path.cwd(), help="where the test file goes")
    words.add_argument("--seed", type=int, default=1)
    words.add_argument("--json", type=Path, help="write the rows here")
    asked = words.parse_args()
    parts: dict[str, list[Row]] = {}
    wanted = [s for s in ALL if not asked.only or asked.only in s.name]
    if asked.times:
        parts["One measurement until ±2 %, 3 to 30 s, bins of 100 ms"] = [
            say(synthetic.scene(s, asked.times, asked.seed)) for s in wanted
        ]
    if asked.times and not asked.only:
        parts[BEYOND_WHAT_IS_SEEN] = [say(synthetic.scene(s, asked.times, asked.seed)) for s in BEYOND]
        parts["Few rounds against a pooled noise floor"] = [
            say(synthetic.few_rounds(n, k, 5 * asked.times, asked.seed)) for n in (3, 4, 5, 10) for k in (0.5, 1, 2, 3)
        ]
        parts["Two runs compared, whole tables"] = [
            say(tables(s, TABLES * asked.times // 3, asked.seed)) for s in SCENES
        ]
        parts["Short cells with a prior pooled over others"] = [
            say(synthetic.with_prior(k, asked.times, asked.seed)) for k in (0.5, 1, 2, 3)
        ]
        parts["Percentiles"] = [
            say(synthetic.percentile(p, tau, asked.times // 2, asked.seed))
            for p in ("50", "99")
            for tau in (0.0, 0.1, 0.3)
        ]
    with Busy() as busy:
        if asked.pairs and not asked.only:
            parts[REAL] = []
            for kind in filter(None, asked.real.split(",")):
                with endpoint(kind, asked.dir) as one:
                    parts[REAL] += [say(row) for row in repeated(one, asked.pairs)]
    for name, rows in parts.items():
        print(f"\n{name} (n = {min(r.times for r in rows)} and more):\n\n{table(rows)}")
    if asked.pairs:
        print(f"\nMeanwhile others used {busy.others:.0%} of the processors; load average {os.getloadavg()[0]:.1f}.")
    if asked.json:
        told = {"seed": asked.seed, "others_busy": busy.others if asked.pairs else None} | {
            name: [r.as_json() for r in rows] for name, rows in parts.items()
        }
        asked.json.write_text(json.dumps(told, indent=1) + "\n")
    missed = [
        r.name for name, rows in parts.items() if name not in (BEYOND_WHAT_IS_SEEN, REAL) for r in rows if not r.holds
    ]
    for name in missed:
        print(f"missed: {name}", file=sys.stderr)
    return 1 if missed else 0


def say(row: Row) -> Row:
    """Progress on stderr."""
    print(f"· {time.strftime('%H:%M:%S')} {row.name}", file=sys.stderr, flush=True)
    return row


if __name__ == "__main__":
    sys.exit(main())
