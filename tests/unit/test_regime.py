"""A result cut to the regime that it ended in."""

from __future__ import annotations

import numpy as np
import pytest
from analyse.material import engine_result, workload

from strata.analyse.series.course import course_of
from strata.model import histogram
from strata.model.regime import last_regime
from strata.model.result import Direction, EngineResult, Interval, IntervalDirection

BIN_NS = 100_000_000
NONE = IntervalDirection(ops=0, bytes=0, errors=0)


def cliff() -> EngineResult:
    """6 s at 1000 IOPS of 1 ms, then 4 s at 300 of 3 ms."""
    rng = np.random.default_rng(1)
    intervals = []
    for i in range(100):
        ops, took = (100, 1_000_000) if i < 60 else (30, 3_000_000)
        ops += int(rng.integers(-1, 2))
        payload = histogram.from_bins({took: ops})
        read = IntervalDirection(ops=ops, bytes=ops * 4096, errors=0, service_time=payload, service_sum_ns=ops * took)
        intervals.append(Interval(start_ns=i * BIN_NS, end_ns=(i + 1) * BIN_NS, read=read, write=NONE))
    whole = Direction(
        ops=sum(i.read.ops for i in intervals),
        bytes=sum(i.read.bytes for i in intervals),
        service_time=histogram.merge([i.read.service_time for i in intervals]),
        response_time=histogram.from_bins({5_000_000: 1}),
        service_sum_ns=sum(i.read.service_sum_ns for i in intervals),
    )
    update = {"read": whole, "intervals": tuple(intervals), "measured_ns": 100 * BIN_NS, "ramp_ns": BIN_NS}
    return engine_result(workload(), 1000).model_copy(update=update)


def test_what_was_before_it_is_neither_in_the_rate_nor_in_the_times() -> None:
    result = cliff()
    course = course_of(result.intervals)
    assert course is not None and len(course.regimes) == 2
    last = last_regime(result, course)
    assert last.iops == pytest.approx(300, rel=0.02) and last.iops == pytest.approx(course.iops.value, rel=0.01)
    assert last.read.service_time is not None
    assert histogram.total(last.read.service_time) == last.read.ops
    assert histogram.quantiles(last.read.service_time, [0.01])[0] == pytest.approx(3_000_000, rel=0.01)
    assert last.read.response_time is None and last.lag is None
    # The ramp takes what was left out; intervals add up as before.
    assert last.ramp_ns + last.measured_ns == result.ramp_ns + result.measured_ns
    assert last.intervals[0].start_ns == 0 and last.intervals[-1].end_ns == last.measured_ns
    assert sum(i.read.ops for i in last.intervals) == last.read.ops


def test_one_regime_is_left_as_it_is() -> None:
    result = cliff()
    result = result.model_copy(update={"intervals": result.intervals[:60]})
    course = course_of(result.intervals)
    assert course is not None and course.ramp_s == 0
    assert last_regime(result, course) is result
