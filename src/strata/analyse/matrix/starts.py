"""What equal starts may differ by, given the few repeats there are.

The estimate of `pooled` is one number. From a noise floor of a dozen visits it is often zero or twice the truth, and
the time that an asked half-width takes goes with its square. So the time is worked out for every deviation that the
repeats leave plausible, each with its weight: the likelihood of the repeats' squared deviations (normal, their bins'
own variance beside it) times a wide log-normal prior.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from strata.analyse.pooled import BOUND, cell_noise, correlation, moderated
from strata.analyse.series.longrun import Floats
from strata.analyse.visit import Visit
from strata.model.noise import PooledNoise

GRID = np.geomspace(2e-4, 0.4, 39)
USUAL, WIDE = 0.01, 1.0
"""Where nothing is known: 1 % from start to start, and a standard deviation of its logarithm of one."""
LEAST = 1e-3
"""Weights below this share of the greatest are left out."""


@dataclass(frozen=True)
class Starts:
    """Standard deviations from start to start (relative), and the weight of each; the weights add up to one."""

    between: Floats
    weight: Floats


def plausible(visits: Sequence[Visit], noise: PooledNoise, known: PooledNoise | None) -> Starts:
    """Of a run's visits so far. ``noise`` is what is pooled of them, ``known`` what earlier runs showed."""
    by_cell: dict[int, list[Visit]] = {}
    for v in visits:
        by_cell.setdefault(v.cell, []).append(v)
    _, stretch = correlation(visits)
    cost = 0.5 * (np.log(GRID / USUAL) / WIDE) ** 2
    if known is not None:
        cost = cost + _cost(known.between**2, 0.0, known.between_df)
    for some in by_cell.values():
        if len(some) < 2:
            continue
        inside = moderated(cell_noise(some, stretch), noise) * float(np.mean([1 / v.seconds for v in some]))
        levels = np.array([v.level for v in some])
        # One start that a neighbour hit does not set the deviation of all.
        most = BOUND * (inside + max(noise.between, USUAL) ** 2)
        cost = cost + _cost(min(float(levels.var(ddof=1)), most), inside, len(some) - 1)
    weight = np.exp(cost.min() - cost)
    kept = weight > LEAST
    return Starts(GRID[kept], weight[kept] / weight[kept].sum())


def _cost(square: float, inside: float, df: float) -> Floats:
    """Of a mean square with so many degrees of freedom, at each of `GRID`."""
    expected = GRID**2 + inside
    found: Floats = 0.5 * df * (np.log(expected) + square / expected)
    return found


def share_below(values: Floats, weight: Floats, share: float) -> float:
    """The value that so much of the weight lies at or below."""
    order = np.argsort(values, kind="stable")
    summed = np.cumsum(weight[order])
    at = min(int(np.searchsorted(summed, share * float(summed[-1]))), len(order) - 1)
    found = float(values[order][at])
    return found if math.isfinite(found) else math.inf
