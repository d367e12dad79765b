"""Intervals for few rounds: log scale, robust location, a variance steadied by what other cells showed.

Throughput and times are positive and their noise is multiplicative, so everything is estimated on logarithms and
turned back. With three to six rounds a cell's own standard deviation is nearly worthless (a t interval with two
degrees of freedom is 4.3 standard errors wide); the pooled one of all cells is not. Both are combined as Smyth
(2004, "Linear models and empirical Bayes methods", moderated t) does, with fixed prior weight `PRIOR_DF`.

A prior is wrong for the cell that truly is noisier than the others, and no weight mends that: three rounds that agree
by chance look like a quiet cell. So an interval is never narrower than what the cell's own rounds carry without any
prior (`OWN_LEVEL`), which holds whatever the others showed. Measured coverage stands in `docs/design/statistics.md`.

Rounds hit by a neighbour are bounded by Huber's (1964) estimator of location, k = 1.5. Gross ones, less than a third of
all and further than `GROSS` typical deviations out, do not count as the cell's own noise either: of three rounds none
can be told to be one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

import numpy as np
from numpy.typing import NDArray

from strata.model.estimate import Estimate

Floats = NDArray[np.float64]

PRIOR_DF = 6.0
"""Degrees of freedom the pooled variance counts for; more would ignore cells that truly are noisier than others."""
OWN_LEVEL = 0.92
"""What fewer than `ENOUGH` own rounds alone must carry; more carry the full level. A t interval of three rounds is 4.3
standard errors wide at 95 % and 3.3 at this level."""
ENOUGH = 5
HUBER_K = 1.5
GROSS = 6.0
"""Typical deviations from the median; a cell thrice as noisy as the others stays inside in 95 of 100 rounds."""
LEVEL = 0.95
"""Confidence of every interval that is told."""


def t_quantile(df: float, level: float = LEVEL) -> float:
    """The two-sided Student t quantile: 2.23 for ``df`` = 10 at 95 %."""
    from scipy.special import stdtrit

    return float(stdtrit(max(df, 1.0), 0.5 + level / 2))


def centre(values: Sequence[float], pooled_sd: float | None = None) -> tuple[float, float | None]:
    """(location, half-width of its 95 % interval) of ``values`` on their own scale; None with one value.

    ``pooled_sd`` is the standard deviation that comparable sets of values showed.
    """
    # Without arrays: of a handful of rounds, each of their operations takes as long as all of this.
    x = [float(v) for v in values]
    n = len(x)
    if n == 1:
        return x[0], None
    middle = median(x)
    spread = 1.4826 * median([abs(v - middle) for v in x])
    own = x
    if pooled_sd is not None:
        own = _without_gross(x, middle, max(spread, pooled_sd))
        scale = max(_deviation(own), pooled_sd)
    else:
        scale = _deviation(x) if n < 5 else spread or _deviation(x)
    if scale <= 0:
        return sum(x) / n, 0.0
    at, reach = middle, HUBER_K * scale
    for _ in range(50):
        weights = [reach / max(abs(v - at), reach) for v in x]
        moved = sum(w * v for w, v in zip(weights, x, strict=True)) / sum(weights)
        if abs(moved - at) < 1e-12 * scale:
            break
        at = moved
    residuals = [v - at for v in x]
    inside = max(0.5, sum(abs(r) <= reach for r in residuals) / n)
    clipped = [max(-reach, min(r, reach)) for r in residuals]
    variance = sum(r * r for r in clipped) / (n - 1)
    df = n - 1.0
    if pooled_sd is None:
        return at, t_quantile(df) * math.sqrt(variance / n) / inside
    moderated = (PRIOR_DF * pooled_sd**2 + df * variance) / (PRIOR_DF + df)
    half = t_quantile(PRIOR_DF + df) * math.sqrt(moderated / n) / inside
    level = OWN_LEVEL if len(own) < ENOUGH else LEVEL
    alone = t_quantile(len(own) - 1.0, level) * _deviation(own) / math.sqrt(len(own))
    return at, max(half, alone)


def _deviation(x: Sequence[float]) -> float:
    mean = sum(x) / len(x)
    return math.sqrt(sum((v - mean) * (v - mean) for v in x) / (len(x) - 1))


def _without_gross(x: list[float], middle: float, typical: float) -> list[float]:
    near = [v for v in x if abs(v - middle) <= GROSS * typical]
    return near if 3 * (len(x) - len(near)) < len(x) else x


def estimate(values: Sequence[float], unit: str, pooled_sd: float | None = None) -> Estimate:
    """An interval on the log scale for positive values; on the plain scale when one is not positive.

    Of values that are never below zero (a rate of which one round was nothing) neither end is.
    """
    positive = all(v > 0 for v in values)
    scaled = [math.log(v) for v in values] if positive else list(values)
    at, half = centre(scaled, pooled_sd if positive else None)
    if half is None:
        return Estimate(value=values[0], low=None, high=None, n=1, unit=unit)
    if not positive:
        low = max(0.0, at - half) if min(values) >= 0 else at - half
        return Estimate(value=at, low=low, high=at + half, n=len(values), unit=unit)
    value = math.exp(at)
    return Estimate(
        value=value,
        low=min(value, math.exp(max(at - half, -700.0))),
        high=max(value, math.exp(min(at + half, 700.0))),
        n=len(values),
        unit=unit,
    )


def holm(p: Sequence[float]) -> list[float]:
    """The adjusted p-values of many cells, in the order given; at most 1.

    Holm's step-down (1979, Scand. J. Statist. 6:65) bounds the chance of *any* false claim in the table, whatever the
    dependence of the cells: all cells of a run share its drift, which Benjamini-Hochberg's bound on the share of false
    claims does not allow for, and one false claim is enough to stop a pipeline.
    """
    order = sorted(range(len(p)), key=lambda i: p[i])
    adjusted = [1.0] * len(p)
    largest = 0.0
    for rank, i in enumerate(order):
        largest = max(largest, min(1.0, (len(p) - rank) * p[i]))
        adjusted[i] = largest
    return adjusted


def below(t: Floats, df: Floats) -> Floats:
    """Student's t for whole tables, element by element: the probability of less than ``t``."""
    from scipy.special import stdtr

    return np.asarray(stdtr(df, t), dtype=np.float64)


def point(df: Floats, share: float | Floats) -> Floats:
    """What ``share`` of the distribution lies below."""
    from scipy.special import stdtrit

    return np.asarray(stdtrit(df, share), dtype=np.float64)


def two_sided(df: Floats, level: float | Floats) -> Floats:
    """The point that is exceeded in neither direction with probability ``level``; at least one degree of freedom."""
    return point(np.maximum(df, 1.0), 0.5 + level / 2)
