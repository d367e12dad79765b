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
    x = np.asarray(values, dtype=float)
    n = x.size
    if n == 1:
        return float(x[0]), None
    median = float(np.median(x))
    spread = 1.4826 * float(np.median(np.abs(x - median)))
    own = x
    if pooled_sd is not None:
        own = _without_gross(x, median, max(spread, pooled_sd))
        scale = max(float(np.std(own, ddof=1)), pooled_sd)
    else:
        scale = float(np.std(x, ddof=1)) if n < 5 else spread or float(np.std(x, ddof=1))
    if scale <= 0:
        return float(np.mean(x)), 0.0
    at, reach = median, HUBER_K * scale
    for _ in range(50):
        weight = reach / np.maximum(np.abs(x - at), reach)
        moved = float(np.sum(weight * x) / np.sum(weight))
        if abs(moved - at) < 1e-12 * scale:
            break
        at = moved
    residual = x - at
    inside = max(0.5, float(np.mean(np.abs(residual) <= reach)))
    clipped = np.clip(residual, -reach, reach)
    variance = float(np.sum(clipped**2)) / (n - 1)
    df = n - 1.0
    if pooled_sd is None:
        return at, t_quantile(df) * math.sqrt(variance / n) / inside
    moderated = (PRIOR_DF * pooled_sd**2 + df * variance) / (PRIOR_DF + df)
    half = t_quantile(PRIOR_DF + df) * math.sqrt(moderated / n) / inside
    alone = (
        t_quantile(own.size - 1.0, OWN_LEVEL if own.size < ENOUGH else LEVEL)
        * float(np.std(own, ddof=1))
        / math.sqrt(own.size)
    )
    return at, max(half, alone)


def _without_gross(x: Floats, median: float, typical: float) -> Floats:
    near = x[np.abs(x - median) <= GROSS * typical]
    return near if 3 * (x.size - near.size) < x.size else x


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
