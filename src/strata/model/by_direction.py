"""Reads and writes of one measurement by themselves: a mixed workload's mean lies between two and is neither."""

from __future__ import annotations

from strata.model import histogram
from strata.model.base import Value
from strata.model.percentiles import PERCENTILES, supported
from strata.model.result import Direction, EngineResult


class DirectionFigures(Value):
    """One direction over the measured span. Times in ns; ``latency_ns`` by percentile, only what the I/Os carry."""

    name: str
    ios: int
    iops: float
    bytes_per_second: float
    mean_ns: float
    spread: histogram.Spread
    latency_ns: dict[str, float]


def directions_of(result: EngineResult) -> tuple[DirectionFigures, ...]:
    """Reads and writes, those that there were."""
    named = (("read", result.read), ("write", result.write))
    return tuple(found for name, one in named if (found := _figures(name, one, result.seconds)) is not None)


def _figures(name: str, one: Direction, seconds: float) -> DirectionFigures | None:
    if not one.ops or one.service_time is None or seconds <= 0:
        return None
    keys = supported(PERCENTILES, one.ops)
    times = histogram.quantiles(one.service_time, [float(k) / 100 for k in keys]) if keys else []
    return DirectionFigures(
        name=name,
        ios=one.ops,
        iops=one.ops / seconds,
        bytes_per_second=one.bytes / seconds,
        mean_ns=one.service_sum_ns / one.ops,
        spread=histogram.spread(one.service_time),
        latency_ns=dict(zip(keys, map(float, times), strict=True)),
    )
