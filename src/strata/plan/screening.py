"""How long and how often each cell is looked at first, before anything is known of it.

Few short rounds of every cell are enough to see what is slow and where; which cells deserve more is known only then
(`strata.plan.detail`). Two rounds are the least that show how much equal measurements differ here. A cell is as long
as the whole screening allows, within bounds: in less than a quarter of a second a slow disk gives too few I/Os, and
beyond half a second a further round says more than the same time in one piece.
"""

from __future__ import annotations

from typing import NamedTuple

ROUNDS = 2
RAMP_S = 0.1
LEAST_S, MOST_S = 0.25, 0.5
BIN_S = 0.05
"""Intervals are this short, so that a stall of a tenth of a second is seen within a cell."""
START_S = 0.07
"""Beside its ramp and its time a cell took 40 to 80 ms here: to open, to connect, to read the counters, to be kept."""
SCREENING_S = 60.0
"""What all cells together should take at most; the least length of a cell goes before it."""


class Lengths(NamedTuple):
    """Of every cell, in seconds; ``rounds`` of each."""

    rounds: int
    ramp_s: float
    runtime_s: float
    interval_s: float


def lengths(cells: int) -> Lengths:
    """For so many cells."""
    each = SCREENING_S / max(1, cells * ROUNDS) - RAMP_S - START_S
    bins = round(min(MOST_S, max(LEAST_S, each)) / BIN_S)
    return Lengths(ROUNDS, RAMP_S, round(bins * BIN_S, 3), BIN_S)
