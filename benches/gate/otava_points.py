"""Run by a Python that has apache-otava: series on stdin, the indices of their change points on stdout, as JSON."""

from __future__ import annotations

import json
import sys

from otava.analysis import compute_change_points  # type: ignore[import-not-found]


def main() -> None:
    """Otava's defaults but for the p-value; it needs windows no longer than the series."""
    series = json.load(sys.stdin)
    found = []
    for one in series:
        points, _ = compute_change_points(one, window_len=min(50, len(one)), max_pvalue=float(sys.argv[1]))
        found.append([int(p.index) for p in points])
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
