"""Leaving steady state: where the level of a series changes for good.

Binary segmentation (Scott and Knott 1974) by the greatest difference of two means, in standard errors of a series as
correlated as this one: the long-run variance is that of what is left when both means are taken out, else the change
itself would count as noise, and a penalty for independent bins would see changes everywhere. The bound lies well above
the supremum that chance reaches in one look (Andrews 1993: 3.6 for one in a hundred), because a growing series is
looked at again and again.
"""

from __future__ import annotations

import numpy as np

from strata.analyse.series.longrun import Floats, long_run

ERRORS = 5.0
LEVEL = 0.05
"""Smaller changes are no other regime, however sure."""
SHORTEST_S = 2.0
"""A stall is shorter: noise of the regime it lies in."""


def changes(values: Floats, bin_s: float, shortest: int | None = None) -> tuple[int, ...]:
    """The first bins of new levels, ascending. ``shortest``: least bins of a level; None: those of a regime."""
    shortest = max(10, round(SHORTEST_S / bin_s)) if shortest is None else shortest
    found: list[int] = []
    todo = [(0, values.size)]
    while todo:
        start, end = todo.pop()
        at = _one(values[start:end], shortest)
        if at is not None:
            found.append(start + at)
            todo += [(start, start + at), (start + at, end)]
    return tuple(sorted(found))


def _one(values: Floats, shortest: int) -> int | None:
    n = values.size
    if n < 2 * shortest or (whole := float(values.mean())) <= 0:
        return None
    sums = np.cumsum(values)
    first = np.arange(shortest, n - shortest + 1)
    gap = sums[first - 1] / first - (sums[-1] - sums[first - 1]) / (n - first)
    weight = np.abs(gap) * np.sqrt(first * (n - first) / n)
    best = int(np.argmax(weight))
    at = int(first[best])
    if abs(float(gap[best])) < LEVEL * whole:
        return None
    left = np.concatenate([values[:at] - values[:at].mean(), values[at:] - values[at:].mean()])
    noise = long_run(left + whole)
    if noise is None:
        return None
    one_bin = noise.error * np.sqrt(n)
    return at if float(weight[best]) > ERRORS * one_bin else None
