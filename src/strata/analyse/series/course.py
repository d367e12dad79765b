"""One measurement over its time, judged: intervals in, `Course` out."""

from __future__ import annotations

from collections.abc import Sequence

from strata.analyse.series.bins import Bins, bins_of
from strata.analyse.series.longrun import Floats, long_run
from strata.analyse.series.mean import Mean, mean_of
from strata.analyse.series.prior import NoisePrior
from strata.analyse.series.quantile import Counts, quantile_of
from strata.analyse.series.regimes import CRITERION, Segmentation, cut
from strata.analyse.series.steady import steadiness
from strata.model.course import Aim, Course, Ending, Regime
from strata.model.estimate import Estimate
from strata.model.percentiles import PERCENTILES
from strata.model.result import Interval


def course_of(
    intervals: Sequence[Interval],
    *,
    prior: NoisePrior | None = None,
    aim: Aim | None = None,
    ended: Ending | None = None,
    percentiles: Sequence[str] = PERCENTILES,
) -> Course | None:
    """Of the intervals of one measurement; None where they are too few or nothing was done in the last regime.

    Without an ``aim`` ``reached`` is None.
    """
    bins = bins_of(intervals)
    if bins.size == 0:
        return None
    found = cut(bins.iops, bins.seconds)
    last = bins.part(*found.pieces[-1])
    mean = mean_of(last.iops, bins.seconds, prior)
    if mean is None:
        return None
    counts = last.counts()
    asked = [aim.percentile] if aim is not None and aim.percentile is not None else []
    names = [*percentiles, *(p for p in asked if p not in percentiles)]
    latency = _supported(counts, sorted(names, key=float))
    iops = _estimate(mean, "IOPS", mean.half)
    settled = steadiness(last.iops)
    known = prior if prior is not None and prior.starts_known else None
    return Course(
        criterion=CRITERION,
        ramp_s=found.ramp * bins.seconds,
        bin_s=bins.seconds,
        regimes=_regimes(bins, found, prior),
        alternates=found.alternates,
        steady=not found.alternates and settled is not None and settled.steady,
        iops=iops,
        bytes_per_second=_scaled(iops, last),
        mean_ns=_mean_ns(last),
        latency_ns=latency,
        effective=mean.effective,
        correlation_s=mean.correlation_s,
        aim=aim,
        ended=ended,
        reached=None if aim is None else narrow(aim, iops, latency),
        between=known.between if known is not None else None,
        between_df=known.between_df if known is not None else None,
    )


def _supported(counts: Sequence[Counts], names: Sequence[str]) -> dict[str, Estimate]:
    """Up to the first that the samples do not support: no nine without the one before it."""
    found: dict[str, Estimate] = {}
    for name in names:
        one = quantile_of(counts, name)
        if one is None:
            break
        found[name] = one
    return found


def narrow(aim: Aim, iops: Estimate, latency: dict[str, Estimate]) -> bool:
    """Whether both intervals are as narrow as asked; a percentile that the samples do not support is not."""
    if not _within(iops, aim.mean):
        return False
    return aim.percentile is None or _within(latency.get(aim.percentile), aim.percentile_within)


def _within(one: Estimate | None, share: float) -> bool:
    return one is not None and one.half_width is not None and one.half_width <= share * one.value


def _regimes(bins: Bins, found: Segmentation, prior: NoisePrior | None) -> tuple[Regime, ...]:
    regimes = []
    for start, end in found.pieces:
        piece = bins.iops[start:end]
        mean = mean_of(piece, bins.seconds, prior)
        alone = Estimate(value=float(piece.mean()), low=None, high=None, n=1, unit="IOPS")
        settled = steadiness(piece)
        regimes.append(
            Regime(
                start_s=start * bins.seconds,
                end_s=end * bins.seconds,
                # Of one start: what starts differ by tells no regime of it from another.
                iops=alone if mean is None else _estimate(mean, "IOPS", mean.inside),
                steady=not found.alternates and settled is not None and settled.steady,
            )
        )
    return tuple(regimes)


def _estimate(mean: Mean, unit: str, half: float) -> Estimate:
    return Estimate(
        value=mean.value,
        low=max(0.0, mean.value - half),
        high=mean.value + half,
        n=max(1, int(mean.effective)),
        unit=unit,
    )


def _scaled(iops: Estimate, bins: Bins) -> Estimate:
    """Bytes per second: as sure as the rate, since one workload has one size."""
    size = float(bins.bytes.sum() / bins.ios.sum())
    low, high = (None if x is None else x * size for x in (iops.low, iops.high))
    return Estimate(value=iops.value * size, low=low, high=high, n=iops.n, unit="B/s")


def _mean_ns(bins: Bins) -> Estimate | None:
    """A ratio of two sums; its error is that of the residuals (Cochran 1977, ratio estimator)."""
    ios, spent = float(bins.ios.sum()), float(bins.service_ns.sum())
    if spent <= 0:
        return None
    value = spent / ios
    left: Floats = bins.service_ns - value * bins.ios
    found = long_run(left + spent / bins.size)
    half = None if found is None else found.half * bins.size / ios
    low, high = (None, None) if half is None else (max(0.0, value - half), value + half)
    return Estimate(value=value, low=low, high=high, n=max(1, int(found.effective if found else 1)), unit="ns")
