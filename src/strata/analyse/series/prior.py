"""What other cells of a run showed, as a prior for the next one.

A long-run variance is pooled as relative variance × seconds: the square of the relative standard error that a mean over
one second would have. How much the pool counts for is estimated from how much the cells differ among themselves, as
Smyth (2004, "Linear models and empirical Bayes methods", section 6.2) does for log variances; cells that differ widely
give a prior that hardly counts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from strata.analyse.stats import t_quantile

DF_MOST = 30.0
DF_LEAST = 0.5
CELLS_LEAST = 3


BETWEEN_DF_LEAST = 2.0
"""With less, what starts differ by is not known."""


@dataclass(frozen=True)
class NoisePrior:
    """``variance_s``: relative variance of a mean over one second. ``df``: the observations that it counts for.

    ``between``: the relative standard deviation from one start to the next, which no longer time mends, from so many
    degrees of freedom.
    """

    variance_s: float
    df: float
    between: float = 0.0
    between_df: float = 0.0

    @property
    def starts_known(self) -> bool:
        """Whether enough equal starts were seen."""
        return self.between_df >= BETWEEN_DF_LEAST

    @property
    def floor(self) -> float:
        """Half of the 95 % interval that one start has however long it is, as a share; 0 where it is not known."""
        return t_quantile(self.between_df) * self.between if self.starts_known else 0.0


def pool(cells: Sequence[tuple[float, float]]) -> NoisePrior | None:
    """From (relative variance × seconds, degrees of freedom) of each cell; None for fewer than three."""
    from scipy.special import digamma, polygamma

    known = [(v, df) for v, df in cells if v > 0 and df > 0]
    if len(known) < CELLS_LEAST:
        return None
    logs = [math.log(v) - float(digamma(df / 2)) + math.log(df / 2) for v, df in known]
    middle = sum(logs) / len(logs)
    spread = sum((x - middle) ** 2 for x in logs) / (len(logs) - 1)
    excess = spread - sum(float(polygamma(1, df / 2)) for _, df in known) / len(known)
    prior = DF_MOST if excess <= 0 else min(DF_MOST, max(DF_LEAST, 2 * _trigamma_inverse(excess)))
    centre = middle + float(digamma(prior / 2)) - math.log(prior / 2)
    return NoisePrior(variance_s=math.exp(centre), df=prior)


def _trigamma_inverse(y: float) -> float:
    from scipy.special import polygamma

    low, high = 1e-3, 1e6
    for _ in range(80):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if float(polygamma(1, middle)) > y else (low, middle)
    return math.sqrt(low * high)
