#!/usr/bin/env python3
"""The load engine beside its peers: `make bench-engine`, or `benches/engine/run.py`. README.md beside this says how.

Prints a Markdown table; `--json FILE` writes the same with all digits. Exit status 0 also when a must-value is not met:
this measures, it does not judge a change (the gate on instructions does).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from enginebench import measures
from enginebench.context import context, say
from enginebench.rows import table


def main() -> int:
    """Run what was asked for."""
    words = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    words.add_argument("--rounds", type=int, default=int(os.environ.get("ROUNDS") or 7), help="interleaved rounds")
    words.add_argument("--seconds", type=float, default=2.0, help="length of one run")
    words.add_argument("--only", action="append", choices=list(measures.ALL), help="these lines of the table")
    words.add_argument("--dir", type=Path, help="where the test file goes; default: beside the built programs")
    words.add_argument("--json", type=Path, help="write the rows here")
    words.add_argument(
        "--smoke", action="store_true", help="everything once, with tiny times: no figure means anything"
    )
    asked = words.parse_args()
    rounds, seconds = (1, 0.1) if asked.smoke else (asked.rounds, asked.seconds)
    rows = []
    load = os.getloadavg()[0]
    with context(rounds, seconds, asked.smoke, asked.dir) as ctx:
        for name in asked.only or measures.ALL:
            rows += measures.ALL[name](ctx)
    print(table(rows))
    print(f"\n{rounds} rounds of {seconds:g} s; load average {load:.1f} before, {os.getloadavg()[0]:.1f} after.")
    if asked.json:
        told = {"rounds": rounds, "seconds": seconds, "load_before": load, "rows": [row.as_json() for row in rows]}
        asked.json.write_text(json.dumps(told, indent=1) + "\n")
        say(f"wrote {asked.json}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
