"""Location and its uncertainty for many cells at once: `strata.analyse.stats.centre`, row by row of a table.

A comparison of 280 cells needs some thousands of estimates; one call a cell takes seconds, one call a table does not.
The pooled variance of the other rows counts for as many degrees of freedom as they have, at most `PRIOR_DF`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from strata.analyse.stats import HUBER_K, PRIOR_DF

Floats = npt.NDArray[np.float64]
STEPS = 25
_TINY = 1e-12


@dataclass(frozen=True)
class Located:
    """Of each row: location, variance of a single value (moderated), degrees of freedom, and how many values.

    ``variance`` is NaN where neither the row nor any other was repeated.
    """

    at: Floats
    variance: Floats
    df: Floats
    n: Floats


def table(rows: Sequence[Sequence[float]]) -> Floats:
    """Ragged rows as a matrix; what is missing is NaN."""
    width = max((len(r) for r in rows), default=0)
    made = np.full((len(rows), max(width, 1)), np.nan)
    for i, row in enumerate(rows):
        made[i, : len(row)] = row
    return made


def spread(rows: Floats) -> tuple[Floats, Floats]:
    """(variance, degrees of freedom) of each row alone; NaN and 0 for a single value."""
    n = np.sum(~np.isnan(rows), axis=1).astype(float)
    mean = np.nansum(rows, axis=1) / np.maximum(n, 1)
    squares = np.nansum((rows - mean[:, None]) ** 2, axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(n > 1, squares / (n - 1), np.nan), np.maximum(n - 1, 0)


def pooled(variance: Floats, df: Floats) -> tuple[float, float]:
    """(variance all rows share, its degrees of freedom); each row's part is bounded at four times the typical one."""
    keep = df > 0
    if not keep.any():
        return float("nan"), 0.0
    typical = float(np.median(variance[keep]))
    bounded = np.minimum(variance[keep], 4 * typical) if typical > 0 else variance[keep]
    return float(np.average(bounded, weights=df[keep])), float(df[keep].sum())


def located(rows: Floats, shared: tuple[float, float] | None = None) -> Located:
    """Huber's location of each row. ``shared`` is what `pooled` gave for rows that are alike; None: of these rows."""
    n = np.sum(~np.isnan(rows), axis=1).astype(float)
    own, own_df = spread(rows)
    common, total = pooled(own, own_df) if shared is None else shared
    median = np.nanmedian(rows, axis=1)
    deviation = 1.4826 * np.nanmedian(np.abs(rows - median[:, None]), axis=1)
    floor = np.sqrt(common) if total > 0 else 0.0
    few = np.where(n < 5, np.sqrt(np.nan_to_num(own)), 0.0) if total <= 0 else 0.0
    scale = np.maximum(np.maximum(deviation, floor), few)
    reach = (HUBER_K * np.maximum(scale, _TINY))[:, None]
    at = median
    for _ in range(STEPS):
        weight = np.where(np.isnan(rows), 0.0, reach / np.maximum(np.abs(rows - at[:, None]), reach))
        at = np.sum(weight * np.nan_to_num(rows), axis=1) / np.sum(weight, axis=1)
    residual = rows - at[:, None]
    held = np.abs(residual) <= reach
    inside = np.maximum(0.5, np.sum(held, axis=1) / np.maximum(n, 1))
    clipped = np.nansum(np.clip(residual, -reach, reach) ** 2, axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        variance = np.where(n > 1, clipped / (n - 1), np.nan) / inside**2
    # A row is not its own witness: what the others showed counts for no more than they have.
    prior = np.minimum(PRIOR_DF, np.maximum(total - own_df, 0.0))
    moderated = (prior * np.nan_to_num(common) + own_df * np.nan_to_num(variance)) / np.maximum(prior + own_df, _TINY)
    df = prior + own_df
    return Located(at=at, variance=np.where(df > 0, moderated, np.nan), df=df, n=n)


def error_of_means(groups: Sequence[Sequence[float]]) -> float:
    """The relative standard error of a group's mean that the noise within the groups alone accounts for."""
    rows = np.log(table(groups))
    variance, df = spread(rows)
    common, total = pooled(variance, df)
    return float(np.sqrt(common * np.mean(1 / np.sum(~np.isnan(rows), axis=1)))) if total > 0 else 0.0
