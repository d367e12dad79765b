"""What equal starts may differ by, given the few repeats there are.

The estimate of `pooled` is one number. From a noise floor of a dozen visits it is often zero or twice the truth, and
the time that an asked half-width takes goes with its square. So the time is worked out for every deviation that the
repeats leave plausible, each with its weight: the likelihood of the repeats' squared deviations (normal, their bins'
own variance beside it) times a wide log-normal prior.

It is one number for the whole table, and cells of different kinds differ by different ones: where a queue is shallow
the way there and back is in every I/O, where it is deep the medium's limit hides it. `by_place` says it of each cell,
from the cells near it that were visited twice.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from strata.analyse.pooled import BOUND, CellNoise, cell_noise, correlation, excess_of, moderated
from strata.analyse.series.longrun import Floats
from strata.analyse.visit import Visit
from strata.model.groups import grouped
from strata.model.noise import PooledNoise

GRID = np.geomspace(2e-4, 0.4, 39)
USUAL, WIDE = 0.01, 1.0
"""Where nothing is known: 1 % from start to start, and a standard deviation of its logarithm of one."""
NEAR = 1.5
"""Octaves of depth or size at which another cell's visits still count for e^-1/2 of their own."""
OTHERWISE = 0.5
"""The share for which those of another pattern or layer count."""
WORTH = 2.0
"""Degrees of freedom for which the one number of the table counts at each place."""
LEAST = 1e-3
"""Weights below this share of the greatest are left out."""


@dataclass(frozen=True)
class Spot:
    """``group`` is its layer and ``pattern`` its pattern, as numbers; ``size`` in bytes."""

    group: int
    pattern: int
    depth: int
    size: int


@dataclass(frozen=True)
class Starts:
    """Standard deviations from start to start (relative), and the weight of each; the weights add up to one."""

    between: Floats
    weight: Floats


def plausible(visits: Sequence[Visit], noise: PooledNoise, known: PooledNoise | None) -> Starts:
    """Of a run's visits so far. ``noise`` is what is pooled of them, ``known`` what earlier runs showed."""
    by_cell = grouped((v.cell, v) for v in visits)
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


def by_place(
    spots: Sequence[Spot], by_cell: Mapping[int, Sequence[Visit]], cells: Mapping[int, CellNoise], noise: PooledNoise
) -> Floats:
    """Standard deviation from start to start (relative) at each of ``spots``: locally pooled (a kernel over octaves of
    depth and size, as Nadaraya and Watson's for means), and shrunk towards the table's."""
    found = np.full(len(spots), noise.between)
    twice = [i for i, some in by_cell.items() if len(some) > 1]
    if not twice:
        return found
    places = np.array([[math.log2(s.depth), math.log2(s.size)] for s in spots])
    kinds = np.array([[s.group, s.pattern] for s in spots])
    squares, freedom = np.empty(len(twice)), np.empty(len(twice))
    for n, i in enumerate(twice):
        some = by_cell[i]
        own = moderated(cells.get(i), noise)
        squares[n] = excess_of(some, own, noise.between**2) / (len(some) - 1)
        expected = np.array([own / v.seconds for v in some]) + noise.between**2
        # Where the bins explain as much as the starts, little is said of the starts.
        freedom[n] = (len(some) - 1) * float(np.mean(noise.between**2 / np.maximum(expected, 1e-12))) ** 2
    far = ((places[:, None] - places[None, twice]) ** 2).sum(axis=2)
    apart = (kinds[:, None] != kinds[None, twice]).sum(axis=2)
    weight = np.exp(-far / (2 * NEAR**2)) * OTHERWISE**apart
    pooled = (weight @ (squares * freedom) + WORTH * noise.between**2) / (weight @ freedom + WORTH)
    local: Floats = np.sqrt(np.maximum(pooled, 0.0))
    return local


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
