"""A load that runs while something joins or leaves: how deep it fell, how long, and where it then stands.

The series is that of the load's own intervals. The level before is their mean up to the change; the level afterwards
that of the last part of the run, once the change is over. The dip is the worst tenth of the time between: one interval
alone is noise. It has recovered from the moment on from which the rate, as a mean over `SETTLED` intervals, is never
again more than `NEAR` below the new level, nor further than such means scatter there anyway (`SCATTER` times their
standard deviation, taken from the median of their distances, so that a second fall does not hide itself), for `HELD`
of them in turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from strata.analyse.series.longrun import Floats
from strata.analyse.stats import estimate
from strata.model.estimate import Estimate

NEAR = 0.10
SETTLED = 10
HELD = SETTLED // 2
"""Means in turn that lie below the level, from which on it is a fall."""
SCATTER = 3.0
NORMAL = 1.4826
"""Of the median distance from the median to the standard deviation, of what is normal."""
LAST = 0.5
"""Of the time after the change: where the new level is read."""
LEAST = 10
"""Intervals before the change, and after it: fewer tell no level."""
WORST = 0.1


@dataclass(frozen=True)
class Moment:
    """One interval of the load: its middle in seconds, and its I/Os per second."""

    at: float
    rate: float


@dataclass(frozen=True)
class ElasticResult:
    """``dip``: the share of the level before that was lost in the worst tenth of the change. ``recovered_s``: from the
    beginning of the change until the rate stayed at its new level; None where it did not within the run."""

    before: Estimate
    after: Estimate
    dip: float
    recovered_s: float | None
    gain: float


def elastic(series: Sequence[Moment], begun: float, ended: float) -> ElasticResult | None:
    """What a change from ``begun`` to ``ended`` (seconds of the series) did; None with too few intervals beside it."""
    before = [m.rate for m in series if m.at < begun]
    rest = [m for m in series if m.at >= ended]
    late = [m.rate for m in rest[int(len(rest) * (1 - LAST)) :]]
    during = sorted(m.rate for m in series if begun <= m.at)
    if len(before) < LEAST or len(late) < LEAST or not during:
        return None
    level, then = float(np.mean(before)), float(np.mean(late))
    worst = during[: max(1, round(WORST * sum(begun <= m.at < ended for m in series)))]
    return ElasticResult(
        before=estimate(_pieces(before), "IOPS"),
        after=estimate(_pieces(late), "IOPS"),
        dip=max(0.0, 1 - float(np.mean(worst)) / level),
        recovered_s=_recovered([m for m in series if m.at >= begun], begun, then, late),
        gain=then / level,
    )


def _pieces(rates: Sequence[float]) -> list[float]:
    """Means of five equal parts: neighbouring intervals are alike, so that they tell less than their number."""
    return [float(np.mean(part)) for part in np.array_split(np.asarray(rates), 5)]


def _recovered(series: Sequence[Moment], begun: float, level: float, late: Sequence[float]) -> float | None:
    if len(series) < SETTLED or len(late) < SETTLED:
        return None
    usual = _smooth(late)
    scatter = NORMAL * float(np.median(np.abs(usual - np.median(usual))))
    smooth = _smooth([m.rate for m in series])
    low = smooth < level - max(NEAR * level, SCATTER * scatter)
    # A fall of less than half of what is averaged is none: of many means some lie outside by chance.
    ends = [i for i in range(HELD - 1, len(low)) if low[i - HELD + 1 : i + 1].all()]
    if not ends:
        return 0.0
    return None if ends[-1] == len(low) - 1 else series[ends[-1] + SETTLED // 2].at - begun


def _smooth(rates: Sequence[float]) -> Floats:
    return np.convolve(np.array(rates), np.full(SETTLED, 1 / SETTLED), "valid")
