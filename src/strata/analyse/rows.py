"""Location and its uncertainty for many cells at once: as `strata.analyse.stats.centre`, row by row of a table.

A comparison of 280 cells needs some thousands of estimates; one call a cell takes seconds, one call a table does not.
Smyth's moderated variance (2004): the pooled variance of the other rows counts for as many degrees of freedom as they
have, at most `PRIOR_DF`; and as there no interval is narrower than the row's own values carry (`Steadied.stretch`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from strata.analyse.stats import ENOUGH, GROSS, HUBER_K, LEVEL, OWN_LEVEL, PRIOR_DF, two_sided

Floats = npt.NDArray[np.float64]
STEPS = 25
STILL = 1e-12
"""Of a logarithm: a step of Huber's location that moves no row further is the last."""
BOUND = 4.0
_TINY = 1e-12


@dataclass(frozen=True)
class Located:
    """Of each row alone: location, variance of a single value, its degrees of freedom, and how many values.

    ``variance`` is of what Huber's weights leave, ``plain`` without any weights, ``own`` (with ``own_df``) without
    gross values. All are 0 for a single value.
    """

    at: Floats
    variance: Floats
    df: Floats
    plain: Floats
    own: Floats
    own_df: Floats
    n: Floats

    def halves(self) -> tuple[Located, Located]:
        """Of the first half of the rows, and of the second."""
        parts = zip(*(np.split(getattr(self, f.name), 2) for f in fields(self)), strict=True)
        first, second = (Located(*part) for part in parts)
        return first, second


@dataclass(frozen=True)
class Steadied:
    """Of each row: the moderated variance of a single value and its degrees of freedom; NaN and 0 where neither the
    row nor any other was repeated. ``stretch`` is what the standard error has to be longer by, so that the interval is
    no narrower than the row's own values alone carry."""

    variance: Floats
    df: Floats
    stretch: Floats

    def error(self, weight: Floats) -> Floats:
        """The standard error of a location (``weight`` 1/n) or of the difference of two (1/n + 1/m)."""
        return np.sqrt(self.variance * weight) * self.stretch


def table(rows: Sequence[Sequence[float]]) -> Floats:
    """Ragged rows as a matrix; what is missing is NaN."""
    width = max((len(r) for r in rows), default=0)
    made = np.full((len(rows), max(width, 1)), np.nan)
    for i, row in enumerate(rows):
        made[i, : len(row)] = row
    return made


def spread(rows: Floats) -> tuple[Floats, Floats]:
    """(variance, degrees of freedom) of each row alone; NaN and 0 for a single value."""
    gone = np.isnan(rows)
    n = np.sum(~gone, axis=1).astype(float)
    mean = np.sum(np.where(gone, 0.0, rows), axis=1) / np.maximum(n, 1)
    squares = np.sum(np.where(gone, 0.0, rows - mean[:, None]) ** 2, axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(n > 1, squares / (n - 1), np.nan), np.maximum(n - 1, 0)


@dataclass(frozen=True)
class Pool:
    """The variance that all rows share, its degrees of freedom, and the most that a single row counts with.

    NaN and 0 where no row was repeated.
    """

    variance: float
    df: float
    most: float = math.inf

    def without(self, sides: Sequence[Located]) -> tuple[Floats, Floats]:
        """For each row (variance, degrees of freedom) of all the others; 0 and 0 where there is none."""
        df = np.sum([s.df for s in sides], axis=0)
        rest = np.maximum(self.df - df, 0.0)
        if math.isinf(self.df):
            return np.full_like(df, self.variance), rest
        theirs = np.sum([s.df * np.minimum(s.plain, self.most) for s in sides], axis=0)
        left = np.maximum(np.nan_to_num(self.df * self.variance) - theirs, 0.0)
        return np.where(rest > 0, left / np.maximum(rest, 1.0), 0.0), rest


def pooled(variance: Floats, df: Floats) -> Pool:
    """Each row's part is bounded at `BOUND` times the typical one: the median, as the mean of variances with so few
    degrees of freedom that have this median (Wilson and Hilferty 1931)."""
    keep = df > 0
    if not keep.any():
        return Pool(math.nan, 0.0)
    few = median(df[keep])
    typical = median(variance[keep]) / (1 - 2 / (9 * few)) ** 3
    most = BOUND * typical if typical > 0 else math.inf
    bounded = np.minimum(variance[keep], most)
    return Pool(float(np.average(bounded, weights=df[keep])), float(df[keep].sum()), most)


def located(rows: Floats, shared: Pool) -> Located:
    """Huber's location of each row. ``shared`` is what `pooled` gave for rows that are alike."""
    n = np.sum(~np.isnan(rows), axis=1).astype(float)
    floor = math.sqrt(shared.variance) if shared.df > 0 else 0.0
    middle = medians(rows)
    away = np.abs(rows - middle[:, None])
    scale = np.maximum(np.maximum(1.4826 * medians(away), floor), _TINY)
    own, own_df = spread(_without_gross(rows, away, scale))
    reach = HUBER_K * scale[:, None]
    at, going = middle.copy(), np.arange(len(rows))
    for _ in range(STEPS):
        # Most rows have no value that is drawn in, and stand still at once.
        some, before, far = rows[going], at[going], reach[going]
        gone = np.isnan(some)
        weight = np.where(gone, 0.0, far / np.maximum(np.abs(some - before[:, None]), far))
        at[going] = np.sum(weight * np.where(gone, 0.0, some), axis=1) / np.sum(weight, axis=1)
        going = going[np.abs(at[going] - before) > STILL]
        if not going.size:
            break
    residual = rows - at[:, None]
    held = np.abs(residual) <= reach
    inside = np.maximum(0.5, np.sum(held, axis=1) / np.maximum(n, 1))
    clipped = np.nansum(np.clip(residual, -reach, reach) ** 2, axis=1)
    df = np.maximum(n - 1, 0)
    variance = clipped / np.maximum(df, 1) / inside**2
    plain = np.nan_to_num(spread(rows)[0])
    return Located(at=at, variance=variance, df=df, plain=plain, own=np.nan_to_num(own), own_df=own_df, n=n)


def steadied(sides: Sequence[Located], shared: Pool) -> Steadied:
    """The noise of each row, from the same row of every one of ``sides`` and from what the other rows showed."""
    df = np.sum([s.df for s in sides], axis=0)
    seen = np.sum([s.df * s.variance for s in sides], axis=0)
    # A row is not its own witness, on neither side: what the others showed counts for no more than they have.
    common, rest = shared.without(sides)
    prior = np.minimum(PRIOR_DF, rest)
    both = prior + df
    variance = np.where(both > 0, (prior * common + seen) / np.maximum(both, _TINY), np.nan)
    own_df = np.sum([s.own_df for s in sides], axis=0)
    own = np.sum([s.own_df * s.own for s in sides], axis=0) / np.maximum(own_df, 1)
    few = own_df < (ENOUGH - 1) * len(sides)
    carried = two_sided(own_df, np.where(few, OWN_LEVEL, LEVEL)) * np.sqrt(own)
    with np.errstate(invalid="ignore", divide="ignore"):
        stretch = carried / (two_sided(both, LEVEL) * np.sqrt(variance))
    return Steadied(variance=variance, df=both, stretch=np.where(own_df > 0, np.fmax(1.0, stretch), 1.0))


def median(values: Floats) -> float:
    """Of one row without NaN; numpy's own takes ten times as long for so few."""
    ordered, n = np.sort(values), len(values)
    return float((ordered[(n - 1) // 2] + ordered[n // 2]) / 2)


def medians(rows: Floats) -> Floats:
    """Along the last axis, of what is not NaN, which sorts last; NaN where that is nothing. numpy's own takes ten times
    as long for so few."""
    ordered = np.sort(rows, axis=-1)
    at = (np.maximum(np.sum(~np.isnan(rows), axis=-1, keepdims=True), 1) - 1) / 2
    low, high = (np.take_along_axis(ordered, f(at).astype(int), -1)[..., 0] for f in (np.floor, np.ceil))
    return np.asarray((low + high) / 2, dtype=np.float64)


def _without_gross(rows: Floats, away: Floats, typical: Floats) -> Floats:
    far = away > GROSS * typical[:, None]
    few = 3 * np.sum(far, axis=1) < np.sum(~np.isnan(rows), axis=1)
    return np.where(far & few[:, None], np.nan, rows)
