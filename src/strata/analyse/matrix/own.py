"""What one cell's own visits say of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from strata.analyse.pooled import CellNoise, moderated
from strata.analyse.stats import PRIOR_DF, t_quantile
from strata.analyse.visit import Visit
from strata.model.noise import PooledNoise

APART = 4.0
"""Visits that differ by more than so many of their standard errors, and by `APART_LEAST`, are of a cell that moved."""
APART_LEAST = 0.10


@dataclass(frozen=True)
class Own:
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


def own_of(visits: Sequence[Visit], cell: CellNoise | None, noise: PooledNoise, between: float) -> Own | None:
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
    return Own(
        visits=k,
        seconds=sum(v.seconds for v in visits),
        level=level,
        variance=variance,
        half=t_quantile(trust) * math.sqrt(variance),
        variance_s=inside * max(1.0, min(apart, spread)),
        between=between * math.sqrt(max(1.0, spread)),
        moved=moved,
    )
