"""A percentile of all I/Os with its interval, where the I/Os of one moment go together.

The order-statistic interval (binomial) with the samples counted for what they are worth: how many I/Os of each bin lie
beyond the percentile is itself a series, and its long-run variance says how sure that share is. The bounds are read
from the merged distribution at the share less and plus its error. Of independent I/Os this is the classical interval.

A percentile is given only where at least `BEYOND` I/Os lie beyond it, and where the error of that share is less than
four fifths of it: a thousand slow I/Os of one stall are one event, and no nine.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from strata.analyse.series.longrun import Floats, long_run
from strata.analyse.stats import t_quantile
from strata.model.estimate import Estimate
from strata.model.percentiles import BEYOND, supported

MOST = 0.8

Counts = tuple[Sequence[int], Sequence[int]]
"""(upper edges of buckets in ns, I/Os in them) of one bin, ascending."""


def merged_counts(bins: Sequence[Counts]) -> tuple[Floats, Floats]:
    """(edges, counts) of all bins together."""
    edges = np.concatenate([np.asarray(b[0], dtype=float) for b in bins]) if bins else np.zeros(0)
    counts = np.concatenate([np.asarray(b[1], dtype=float) for b in bins]) if bins else np.zeros(0)
    values, place = np.unique(edges, return_inverse=True)
    total: Floats = np.bincount(place, weights=counts, minlength=values.size).astype(float)
    return values, total


def quantile_of(bins: Sequence[Counts], percentile: str) -> Estimate | None:
    """``percentile`` ("99.9") over ``bins`` in ns; None where the samples do not support it."""
    values, counts = merged_counts(bins)
    total = float(counts.sum())
    share = float(percentile) / 100
    if not supported([percentile], round(total)):
        return None
    reached = np.cumsum(counts)
    value = _at(values, reached, share * total)
    beyond = np.array([_beyond(one, value) for one in bins])
    each = np.array([float(sum(one[1])) for one in bins])
    # Buckets hold many I/Os: the share beyond the bucket, not the one asked for, is what varies around its mean.
    left = beyond - each * float(beyond.sum()) / total
    found = long_run(left + float(each.mean()))
    half = t_quantile(BEYOND) * math.sqrt(share * (1 - share) / total)
    if found is not None:
        half = max(half, found.half * left.size / total)
    if half > MOST * (1 - share):
        return None
    low = _at(values, reached, max(0.0, share - half) * total)
    high = _at(values, reached, (share + half) * total)
    return Estimate(value=value, low=low, high=high, n=max(1, int(total)), unit="ns")


def _at(values: Floats, reached: Floats, rank: float) -> float:
    return float(values[min(int(np.searchsorted(reached, rank - 1e-9)), values.size - 1)])


def _beyond(one: Counts, value: float) -> float:
    edges, counts = np.asarray(one[0], dtype=float), np.asarray(one[1], dtype=float)
    return float(counts[edges > value].sum())
