"""The mean of a steady series with its 95 % interval."""

from __future__ import annotations

import math
from dataclasses import dataclass

from strata.analyse.series.longrun import Floats, long_run
from strata.analyse.series.prior import NoisePrior
from strata.analyse.stats import OWN_LEVEL, t_quantile


@dataclass(frozen=True)
class Mean:
    """``half`` is half of the interval in the series' unit, ``inside`` what the bins alone make of it,
    ``effective`` the independent bins, ``correlation_s`` for how long a bin and its successors go together."""

    value: float
    half: float
    inside: float
    effective: float
    correlation_s: float
    variance_s: float
    df: float


def mean_of(values: Floats, bin_s: float, prior: NoisePrior | None = None) -> Mean | None:
    """Of equally long bins of ``bin_s`` seconds; None where they are too few or nothing happened in them.

    With ``prior`` the long-run variance is moderated (Smyth 2004), and as for rounds never taken for less than the
    series alone carries at `OWN_LEVEL`; and what equal starts differ by is added in squares, since one start does not
    show it.
    """
    found = long_run(values)
    value = float(values.mean()) if values.size else 0.0
    if found is None or value <= 0:
        return None
    seconds = values.size * bin_s
    inside, floor = found.half, 0.0
    if prior is not None:
        own = (found.error / value) ** 2 * seconds
        both = (prior.df * prior.variance_s + found.df * own) / (prior.df + found.df)
        moderated = t_quantile(prior.df + found.df) * math.sqrt(both / seconds) * value
        inside = max(moderated, t_quantile(found.df, OWN_LEVEL) * found.error)
        floor = prior.floor * value
    return Mean(
        value=value,
        half=math.hypot(inside, floor),
        inside=inside,
        effective=found.effective,
        correlation_s=bin_s * values.size / found.effective,
        variance_s=(found.error / value) ** 2 * seconds,
        df=found.df,
    )
