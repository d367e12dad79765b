"""What a budget brings, and what an asked error takes, from the noise alone.

A typical cell gets budget / cells; starts and seconds are split as in `next`. Cells differ in their variance by as
much as the pool's degrees of freedom say (a scaled inverse chi-square: Smyth 2004), so the 95th percentile over cells
is that of a noisy cell, and the time for all cells is the sum over that distribution. Smoothing is left out: what it
brings is not known before.
"""

from __future__ import annotations

import math

import numpy as np

from strata.analyse.matrix.next import VISITS_MOST, visit_seconds
from strata.model.matrix import Known, Prediction
from strata.model.noise import PooledNoise

LEVELS = 41


def predict(
    noise: PooledNoise, known_from: Known, *, cells: int, budget_s: float, start_s: float, target: float,
    shortest: float, longest: float,
) -> Prediction:  # fmt: skip
    """Of ``cells`` alike but for their noise, in ``budget_s``; ``target`` is a relative half-width."""
    variances = _variances(noise)
    each = budget_s / max(1, cells)
    # Neyman: time in proportion to the standard deviation of a cell.
    share = np.sqrt(variances + noise.between**2 * 0.25)
    share = share / share.mean()
    errors = np.array(
        [_error(noise, v, start_s, each * s, shortest, longest) for v, s in zip(variances, share, strict=True)]
    )
    wanted = math.log1p(target) / 1.96
    needed = [seconds_for(noise, v, start_s, wanted, shortest, longest) for v in variances]
    normal = np.abs(np.random.default_rng(0).standard_normal(4000))
    drawn = np.concatenate([normal * e for e in errors])
    return Prediction(
        known_from=known_from,
        noise=noise,
        seconds=budget_s,
        seconds_a_cell=each,
        error_median=float(np.median(drawn)),
        error_p95=float(np.quantile(drawn, 0.95)),
        half_width=1.96 * float(np.median(errors)),
        target=target,
        seconds_for_target=None if any(n is None for n in needed) else cells * float(np.mean([n or 0 for n in needed])),
    )


def _variances(noise: PooledNoise) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Quantiles of the cells' variances a second around the pooled one."""
    from scipy.special import gammaincinv

    df = max(noise.spread_df, 1.0)
    levels = (np.arange(LEVELS) + 0.5) / LEVELS
    found = noise.variance_s * df / (2 * gammaincinv(df / 2, 1 - levels))
    return np.asarray(np.minimum(found, 100 * noise.variance_s), dtype=float)


def _error(
    noise: PooledNoise, variance_s: float, start_s: float, seconds: float, shortest: float, longest: float
) -> float:
    length = visit_seconds(noise, variance_s, start_s, shortest, longest)
    starts = max(1.0, min(seconds / (length + start_s), float(VISITS_MOST)))
    length = min(length, max(shortest, seconds - start_s))
    return math.sqrt((noise.between**2 + variance_s / length) / starts)


def seconds_for(
    noise: PooledNoise, variance_s: float, start_s: float, error: float, shortest: float, longest: float
) -> float | None:
    """For a standard error of ``error``; None where what differs between starts forbids it."""
    if noise.between / math.sqrt(VISITS_MOST) > error:
        return None
    length = visit_seconds(noise, variance_s, start_s, shortest, longest)
    starts = max(1, math.ceil((noise.between**2 + variance_s / length) / error**2))
    return starts * (length + start_s)
