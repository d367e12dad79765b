"""From visits to a table: every cell as it was measured, as its neighbours have it, and which of the two is given.

A smoothed value is the cell's own measurement and its neighbours together, weighed by what each is sure of. It is given
only where both agree: a cell that the others, asked without it (leave-one-out), miss by more than both intervals allow
is a kink, keeps its measured value and informs no neighbour. How far leave-one-out misses the other cells, in its own
standard errors, widens every smoothed interval where it is above one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from strata.analyse.matrix import bound, gp
from strata.analyse.matrix.starts import Spot, by_place
from strata.analyse.pooled import CellNoise, cell_noise, correlation, moderated
from strata.analyse.series.longrun import Floats
from strata.analyse.stats import PRIOR_DF, t_quantile
from strata.analyse.visit import Visit
from strata.model.groups import grouped
from strata.model.noise import PooledNoise

KINKS_MOST = 0.3
"""A table with a greater share of them is not smooth: its wide smoothed intervals say so."""
CELLS_LEAST = 8
TWO_SIDED = 1.96
NARROWED_MOST = 0.6
"""A smoothed interval is not narrower than so much of the cell's own: a kink smaller than the noise looks smooth."""
SUSPECT = 2.0
"""Standard errors by which the neighbours miss a cell that is worth another visit."""


APART = 4.0
"""Visits that differ by more than so many of their standard errors, and by `APART_LEAST`, are of a cell that moved."""
APART_LEAST = 0.10


@dataclass(frozen=True)
class CellEstimate:
    """``level`` is log IOPS, ``variance`` of it, ``half`` of its 95 % interval; ``variance_s`` and ``between`` what one
    more visit would bring. ``moved``: its visits are not of one level."""

    visits: int
    seconds: float
    level: float
    variance: float
    half: float
    variance_s: float
    between: float
    moved: bool


def own_of(visits: Sequence[Visit], cell: CellNoise | None, noise: PooledNoise, between: float) -> CellEstimate | None:
    """Of all visits of one cell; None without any. ``between``: standard deviation from start to start of such cells.

    A visit's variance is that between starts and that of its bins. Where the visits themselves differ by more, they
    are believed for their own degrees of freedom (as for rounds: `strata.analyse.stats`).
    """
    if not visits:
        return None
    inside = moderated(cell, noise)
    each = np.array([between**2 + inside / v.seconds for v in visits])
    levels = np.array([v.level for v in visits])
    weights = 1 / each
    level = float(weights @ levels / weights.sum())
    k = len(visits)
    away = float(weights @ (levels - level) ** 2)
    apart = away / (k - 1) if k > 1 else 1.0
    spread = (PRIOR_DF + away) / (PRIOR_DF + k - 1)
    variance = spread / float(weights.sum())
    trust = PRIOR_DF + noise.spread_df + (0.0 if cell is None else min(cell.df, 30.0)) + k - 1
    widest = float(levels.max() - levels.min())
    moved = k > 1 and widest > APART_LEAST and widest > APART * math.sqrt(2 * float(each.mean()))
    return CellEstimate(
        visits=k,
        seconds=sum(v.seconds for v in visits),
        level=level,
        variance=variance,
        half=t_quantile(trust) * math.sqrt(variance),
        variance_s=inside * max(1.0, min(apart, spread)),
        between=between * math.sqrt(max(1.0, spread)),
        moved=moved,
    )


@dataclass(frozen=True)
class Smoothed:
    """``level`` (log IOPS) and ``half`` of its 95 % interval with the cell itself; ``alone`` and ``alone_half``
    without."""

    level: float
    variance: float
    half: float
    alone: float
    alone_half: float


@dataclass(frozen=True)
class Filled:
    """One cell. ``smoothed`` is None where it cannot be had, ``kink`` where measured and smoothed exclude each other,
    ``suspect`` where they nearly do. ``level`` and ``half`` are what is given."""

    own: CellEstimate | None
    smoothed: Smoothed | None
    kink: bool
    suspect: bool

    @property
    def takes_smoothed(self) -> bool:
        """Whether the smoothed value is the one that is given."""
        if self.smoothed is None or self.own is None:
            return self.smoothed is not None
        return not self.kink and not self.own.moved and self.smoothed.half < self.own.half

    @property
    def level(self) -> float | None:
        """Log IOPS."""
        if self.takes_smoothed and self.smoothed is not None:
            return self.smoothed.level
        return None if self.own is None else self.own.level

    @property
    def half(self) -> float | None:
        """Of the given value's 95 % interval, in log IOPS."""
        if self.takes_smoothed and self.smoothed is not None:
            return self.smoothed.half
        return None if self.own is None else self.own.half


Theta = Mapping[int, Floats]


def table_of(
    spots: Sequence[Spot], visits: Sequence[Visit], noise: PooledNoise, theta: Theta | None = None
) -> tuple[tuple[Filled, ...], Theta]:
    """Every cell, and the hyperparameters by group (layer), for the next look at the same matrix."""
    by_cell = grouped((v.cell, v) for v in visits)
    _, stretch = correlation(visits)
    cells = {i: c for i, some in by_cell.items() if (c := cell_noise(some, stretch)) is not None}
    between = by_place(spots, by_cell, cells, noise)
    own = {
        i: o for i, some in by_cell.items()
        if (o := own_of(some, cells.get(i), noise, float(between[i]))) is not None
    }  # fmt: skip
    found: list[Filled] = [Filled(own.get(i), None, kink=False, suspect=False) for i in range(len(spots))]
    kept: dict[int, Floats] = {}
    for group in sorted({s.group for s in spots}):
        places = [i for i, s in enumerate(spots) if s.group == group]
        known = [i for i in places if i in own and not own[i].moved]
        if len(known) < CELLS_LEAST:
            continue
        kept[group] = _fill(spots, own, places, found, None if theta is None else theta.get(group))
    return tuple(found), kept


def _fill(
    spots: Sequence[Spot],
    own: Mapping[int, CellEstimate],
    places: Sequence[int],
    found: list[Filled],
    theta: Floats | None,
) -> Floats:
    where = np.array([[math.log2(spots[i].depth), math.log2(spots[i].size)] for i in places])
    pattern = np.array([spots[i].pattern for i in places], dtype=np.int64)
    known = np.array([i in own for i in places])
    level = np.array([own[i].level if i in own else 0.0 for i in places])
    noise = np.array([own[i].variance if i in own else 1.0 for i in places])
    used = np.array([i in own and not own[i].moved for i in places])
    form = _forms(where, pattern, level, noise, used)
    looked = gp.smooth(where, pattern, level - form, noise, used, theta)
    halves = np.array([own[i].half if i in own else 0.0 for i in places])
    kinks = np.zeros(len(places), dtype=bool)
    for _ in range(3):
        away = np.abs(level - form - looked.loo_mean)
        fresh = known & (away > halves + TWO_SIDED * np.sqrt(looked.loo_variance))
        if (fresh == kinks).all() or fresh.sum() > KINKS_MOST * known.sum():
            break
        kinks = fresh
        # Neighbours of a kink must not be drawn towards it.
        looked = gp.smooth(where, pattern, level - form, noise, used & ~kinks, looked.theta)
    if theta is None and kinks.any():
        looked = gp.smooth(where, pattern, level - form, noise, used & ~kinks)
    away = level - form - looked.loo_mean
    score = away / np.sqrt(looked.loo_variance + noise)
    judged = used & ~kinks
    wide = max(1.0, float(np.sqrt(np.mean(np.minimum(score[judged] ** 2, 9.0))))) if judged.any() else 1.0
    reach = wide * t_quantile(max(6.0, float(judged.sum()) / 4))
    for n, i in enumerate(places):
        smoothed = Smoothed(
            level=float(form[n] + looked.mean[n]),
            variance=float(looked.variance[n]) * wide**2,
            half=max(reach * math.sqrt(float(looked.variance[n])), NARROWED_MOST * float(halves[n])),
            alone=float(form[n] + looked.loo_mean[n]),
            alone_half=reach * math.sqrt(float(looked.loo_variance[n])),
        )
        suspect = bool(known[n]) and abs(float(score[n])) > SUSPECT
        found[i] = Filled(own.get(i), smoothed, kink=bool(kinks[n]), suspect=suspect)
    return looked.theta


def _forms(
    where: Floats, pattern: np.ndarray[tuple[int], np.dtype[np.int64]], level: Floats, noise: Floats,
    used: np.ndarray[tuple[int], np.dtype[np.bool_]],
) -> Floats:  # fmt: skip
    """The parametric mean of each pattern; a plane through its cells where they are too few for that."""
    made = np.zeros(level.size)
    for one in np.unique(pattern):
        here = pattern == one
        seen = here & used
        depth, size = 2 ** where[:, 0], 2 ** where[:, 1]
        form = bound.fitted(depth[seen], size[seen], level[seen], noise[seen])
        if form is not None and (here == seen).all():
            made[here] = form
            continue
        made[here] = _plane(where[seen], level[seen], where[here]) if seen.any() else 0.0
    return made


def _plane(where: Floats, level: Floats, asked: Floats) -> Floats:
    """Least squares, held to a level (ridge) so that a line of cells has a plane too."""
    centre = where.mean(axis=0)
    columns = np.column_stack([np.ones(len(where)), where - centre])
    held = columns.T @ columns + np.diag([0.0, 1e-2, 1e-2])
    weights = np.linalg.lstsq(held, columns.T @ level, rcond=None)[0]
    plane: Floats = np.column_stack([np.ones(len(asked)), asked - centre]) @ weights
    return plane
