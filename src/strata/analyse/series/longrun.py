"""How much the mean of a correlated series can be off: its long-run variance, from the series alone.

Neighbouring bins of a storage series are not independent (a queue, a cache, a neighbour last longer than a bin), so
sd/√n is far too narrow. Three looks are taken, and the widest is believed, because with a few seconds each of them
misses slow correlation by itself:

* lag-1 correlation of the bins, and of bins merged by two and by four (a first-order autoregression; Bartlett 1946 for
  its standard error, Kendall 1954 for its bias). It is taken `UPWARD` standard errors high: a run that ends when it
  looks precise would otherwise end exactly when the correlation was underestimated. n·(1 − r)/(1 + r) is the
  effective sample size.
* batch means with 20, 10 and 5 batches (Schmeiser 1982), each widened by (1 + r)/(1 − r) for what correlation their own
  means still have (the adjustment of Skart: Tafazzoli and Wilson 2011).

All of it on one scale; the caller divides by the mean where it wants shares.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from strata.analyse.stats import t_quantile

Floats = NDArray[np.float64]

UPWARD = 1.0
"""Standard errors added to the correlation. `make bench-honesty` shows what it does to coverage."""
MERGED = (1, 2, 4)
BATCHES = (20, 10, 5)
FEWEST = 8
"""Bins below which nothing is said of their correlation."""


@dataclass(frozen=True)
class LongRun:
    """``half``: half of the 95 % interval of the mean, in the series' unit. ``error`` its standard error with ``df``
    degrees of freedom, ``effective`` the independent bins that would be as good."""

    half: float
    error: float
    df: float
    effective: float


_quantile = lru_cache(maxsize=4096)(t_quantile)


def long_run(values: Floats) -> LongRun | None:
    """Of a steady series of equally long bins; None for fewer than `FEWEST`."""
    n = values.size
    if n < FEWEST:
        return None
    spread = float(np.var(values, ddof=1))
    if spread <= 1e-18 * float(np.mean(values)) ** 2:
        return LongRun(half=0.0, error=0.0, df=n - 1.0, effective=float(n))
    looks = [*(_by_correlation(values, k) for k in MERGED if n // k >= FEWEST)]
    looks += [_by_batches(values, k) for k in BATCHES if n >= 2 * k or k == BATCHES[-1]]
    half, error, df = max(looks)
    return LongRun(half=half, error=error, df=df, effective=max(1.0, min(float(n), spread / error**2)))


def merged(values: Floats, by: int) -> Floats:
    """Means of ``by`` neighbours; what does not fill the first one is left out."""
    whole = values.size // by
    found: Floats = values[values.size - whole * by :].reshape(whole, by).mean(axis=1)
    return found


def lag_one(values: Floats) -> float:
    """Correlation of neighbours, -1..1, 0 for a constant series."""
    away = values - values.mean()
    total = float(away @ away)
    return float(away[1:] @ away[:-1]) / total if total > 0 else 0.0


def _by_correlation(values: Floats, by: int) -> tuple[float, float, float]:
    bins = merged(values, by)
    n = bins.size
    r = lag_one(bins)
    r += (1 + 3 * max(r, 0.0)) / n + UPWARD * math.sqrt(max(1 - r * r, 0.02) / n)
    r = min(max(r, 0.0), 0.97)
    # Less than two independent bins say nothing of their own spread: this is as wide as it gets.
    stretch = min((1 + r) / (1 - r), n / 2)
    # A short piece of a correlated series varies less around its own mean than around the true one.
    variance = float(np.var(bins, ddof=1)) / (1 - stretch / n)
    df = max(2.0, n / stretch - 1)
    error = math.sqrt(variance * stretch / n)
    return _quantile(round(df, 1)) * error, error, df


def _by_batches(values: Floats, batches: int) -> tuple[float, float, float]:
    means = merged(values, values.size // batches)[-batches:]
    r = min(max(lag_one(means) + 1 / batches, 0.0), 0.8)
    error = math.sqrt(float(np.var(means, ddof=1)) * (1 + r) / (1 - r) / batches)
    # Five batches are there to see slow waves, not to set the width of every interval.
    level = 0.95 if batches > BATCHES[-1] else 0.90
    return _quantile(batches - 1.0, level) * error, error, batches - 1.0
