"""Parts make the whole: threads and intervals of a run, and histograms of another implementation."""

from __future__ import annotations

import base64
import zlib

from hdrh.histogram import HdrHistogram
from hypothesis import given, settings
from hypothesis import strategies as st

from strata import units
from strata.engine import Timing, build_job, run_job
from strata.model import histogram
from strata.model.endpoint import Endpoint
from strata.model.plan import Segment
from strata.plan.words import workload_from_words

HIGHEST_NS = 3_600_000_000_000
WHOLE = (Segment(start=0, length=64 * units.MIB, target=0),)
TIMES = st.lists(st.integers(1, HIGHEST_NS), max_size=40)


@settings(max_examples=12, deadline=None, derandomize=True)
@given(
    threads=st.integers(1, 4),
    iodepth=st.integers(1, 9),
    reads=st.integers(1, 99),
    interval_ms=st.integers(3, 70),
    runtime_ms=st.integers(20, 120),
)
def test_intervals_of_several_threads_add_up(
    threads: int, iodepth: int, reads: int, interval_ms: int, runtime_ms: int
) -> None:
    workload = workload_from_words("randrw", "4k", iodepth=iodepth, threads=threads, rwmixread=reads, rate_iops=20_000)
    timing = Timing(ramp_s=0.01, runtime_s=runtime_ms / 1e3, interval_s=interval_ms / 1e3)
    result = run_job(build_job(Endpoint.parse("null:"), workload, WHOLE, timing))
    assert result.issued == result.completed + result.errored + result.stuck
    ends = [i.end_ns for i in result.intervals]
    assert [i.start_ns for i in result.intervals] == [0, *ends[:-1]]
    assert ends[-1] == result.measured_ns
    assert len(result.threads) == threads
    for name in ("read", "write"):
        whole, parts = getattr(result, name), [getattr(i, name) for i in result.intervals]
        assert sum(p.ops for p in parts) == whole.ops == sum(getattr(t, f"{name}_ops") for t in result.threads)
        assert sum(p.bytes for p in parts) == whole.bytes == 4096 * whole.ops
        assert sum(p.service_sum_ns for p in parts) == whole.service_sum_ns
        merged = histogram.merge(p.service_time for p in parts)
        assert (merged is None) is (whole.ops == 0)
        if merged is not None:
            assert histogram.decode(merged) == histogram.decode(whole.service_time)
            assert histogram.total(merged) == histogram.total(whole.response_time) == whole.ops


def theirs(values: list[int]) -> HdrHistogram:
    made = HdrHistogram(1, HIGHEST_NS, 3)
    for value in values:
        made.record_value(value)
    return made


def plain(made: HdrHistogram) -> str:
    """The library's compressed envelope taken off."""
    return base64.b64encode(zlib.decompress(base64.b64decode(made.encode())[8:])).decode()


@settings(max_examples=60, deadline=None, derandomize=True)
@given(parts=st.lists(TIMES, min_size=1, max_size=4))
def test_foreign_parts_merge_to_the_foreign_whole(parts: list[list[int]]) -> None:
    whole = theirs([value for part in parts for value in part])
    merged = histogram.merge(plain(theirs(part)) for part in parts)
    assert merged is not None
    assert histogram.decode(merged) == histogram.decode(plain(whole))
    assert histogram.total(merged) == whole.get_total_count() == sum(map(len, parts))
