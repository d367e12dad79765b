#!/usr/bin/env python3
"""How often each demo is named correctly: `make bench-demos`, or `benches/demos/run.py --times 10`.

Prints a table and exits 1 when any verdict was not the truth of its `truth.toml`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections import Counter

from strata.app.demos import scenario
from strata.host import shipped


def main() -> int:
    """One line a demo: right out of tried, verdicts given, confidence range, seconds of one (median)."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--only", choices=shipped.demos())
    wanted = parser.parse_args()
    wrong = 0
    names = [wanted.only] if wanted.only else list(shipped.demos())
    tried: dict[str, list[tuple[bool, str, float, float]]] = {name: [] for name in names}
    # Interleaved, so that a noisy quarter of an hour does not fall on one demo alone.
    for turn in range(wanted.times):
        for name in names:
            tried[name].append(one(name))
            right, verdict, confidence, seconds = tried[name][-1]
            mark = "ok" if right else "WRONG"
            print(f"  {turn + 1:3} {name:14} {verdict:28} {confidence:.2f} {seconds:5.1f} s {mark}", file=sys.stderr)
    print(f"{'demo':14} {'right':>7}  {'confidence':11} {'seconds':>7}  verdicts")
    for name, rows in tried.items():
        right = sum(r[0] for r in rows)
        wrong += len(rows) - right
        confidences = [r[2] for r in rows]
        seconds = sorted(r[3] for r in rows)[len(rows) // 2]
        verdicts = ", ".join(f"{v} x{n}" for v, n in Counter(r[1] for r in rows).most_common())
        spread = f"{min(confidences):.2f}..{max(confidences):.2f}"
        print(f"{name:14} {right:3}/{len(rows):<3}  {spread:11} {seconds:7.1f}  {verdicts}")
    return 1 if wrong else 0


def one(name: str) -> tuple[bool, str, float, float]:
    """(right, what was said, confidence, seconds) of one demo in a process of its own."""
    start = time.monotonic()
    words = [sys.executable, "-m", "strata", "diagnose", "--demo", name, "--json", "--progress", "none"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=600)
    seconds = time.monotonic() - start
    if not done.stdout:
        return False, f"exit {done.returncode}", 0.0, seconds
    verdict = json.loads(done.stdout)["verdict"]
    truth = scenario(name).truth
    right = verdict["kind"] in [k.value for k in truth.kinds]
    if verdict["kind"] == "layer":
        right = right and verdict["layer"] == truth.layer and verdict["cause"] == (truth.cause or "")
    said = f"{verdict['kind']}/{verdict['layer'] or '-'}/{verdict['cause']}"
    return right, said, float(verdict["confidence"]), seconds


if __name__ == "__main__":
    sys.exit(main())
