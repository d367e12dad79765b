"""A result with nothing but the regime it ended in."""

from __future__ import annotations

from collections.abc import Sequence

from strata import units
from strata.model import histogram
from strata.model.course import Course
from strata.model.result import Direction, EngineResult, Interval, IntervalDirection


def last_regime(result: EngineResult, course: Course) -> EngineResult:
    """Its I/Os, bytes, time and service times alone; as it is where all belongs to one regime.

    What is known of the whole measurement only stays so: threads, CPU time, errors by name. Times from the
    intended start are left out, because intervals do not hold them.
    """
    start = round(course.regimes[-1].start_s * units.NS_PER_S)
    kept = [i for i in result.intervals if i.end_ns > start + (i.end_ns - i.start_ns) // 2]
    if not kept or len(kept) == len(result.intervals):
        return result
    left_out = kept[0].start_ns
    return result.model_copy(
        update={
            "ramp_ns": result.ramp_ns + left_out,
            "measured_ns": kept[-1].end_ns - left_out,
            "read": _sum(result.read, [i.read for i in kept]),
            "write": _sum(result.write, [i.write for i in kept]),
            "sync": result.sync and _sum(result.sync, [i.sync for i in kept if i.sync is not None]),
            "intervals": tuple(_moved(i, left_out) for i in kept),
            "lag": None,
        }
    )


def _sum(whole: Direction, parts: Sequence[IntervalDirection]) -> Direction:
    return Direction(
        ops=sum(p.ops for p in parts),
        bytes=sum(p.bytes for p in parts),
        errors=whole.errors,
        service_time=histogram.merge([p.service_time for p in parts]),
        service_sum_ns=sum(p.service_sum_ns for p in parts),
    )


def _moved(one: Interval, by_ns: int) -> Interval:
    return one.model_copy(update={"start_ns": one.start_ns - by_ns, "end_ns": one.end_ns - by_ns})
