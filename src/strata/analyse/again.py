"""What equal runs of one cell differ by, from those that the store remembers.

A single start knows its own bins. What is different the next time (placement, neighbours, the state of the medium) is
seen only in starts that were made before, so their levels are compared with each other: their variance less what their
bins explain (the method of moments). Each counts for at most `BOUND` times what is expected, so that of many runs the
one that a neighbour hit is not the measure of all; of few, it is. Runs before a change of level are another cell's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from strata.analyse.changes import change_points
from strata.analyse.pooled import BOUND, SAME, TRIES
from strata.analyse.rows import Floats
from strata.model.noise import PooledNoise

NEWEST = 100
"""Runs looked at: enough to see what changes by minutes and by days, few enough to forget."""
FEWEST = 3
CHANGED = 0.10
SURE = 0.001
"""Smaller changes of level are drift, which equal starts do differ by; larger ones are believed at this level."""


@dataclass(frozen=True)
class Earlier:
    """One run of the cell: its id, IOPS over so many seconds."""

    run: str
    iops: float
    seconds: float


def with_earlier(noise: PooledNoise | None, runs: Sequence[Earlier]) -> PooledNoise | None:
    """``noise`` with what these ``runs`` of the very same cell, the oldest first, differ by; as it was where they are
    fewer than `FEWEST`. None where nothing is known of the bins either."""
    runs = [r for r in runs if r.iops > 0 and r.seconds > 0][-NEWEST:]
    runs = runs[since_change([r.iops for r in runs]) :]
    if noise is None or len(runs) < FEWEST:
        return noise
    levels = np.array([math.log(r.iops) for r in runs])
    inside = np.array([noise.variance_s / r.seconds for r in runs])
    floor = spread_between(levels, inside)
    return noise.model_copy(update={"between": math.sqrt(floor), "between_df": len(runs) - 1.0})


def since_change(iops: Sequence[float]) -> int:
    """The first run of the level that is in force; of runs of one cell, the oldest first."""
    found = change_points(iops, alpha=SURE)
    cuts = [c.index for c in found if abs(math.log(c.ratio.value)) > math.log1p(CHANGED)]
    return cuts[-1] if cuts else 0


def spread_between(levels: Floats, inside: Floats) -> float:
    """The variance between runs: of their ``levels`` (logarithms), less what is ``inside`` each of them."""
    centre, floor = float(np.median(levels)), float(np.var(levels, ddof=1))
    for _ in range(TRIES):
        before, reach = floor, np.sqrt(BOUND * (inside + floor))
        away = np.clip(levels - centre, -reach, reach)
        centre += float(away.mean())
        floor = max(0.0, float(away @ away) / (len(levels) - 1) - float(inside.mean()))
        if abs(floor - before) <= SAME * before:
            break
    return floor
