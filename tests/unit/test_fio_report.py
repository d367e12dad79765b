"""fio's report as it comes: cumulative documents, notes between their lines, a ramp, counts that do not agree."""

from __future__ import annotations

import json
from typing import Any

import pytest

from strata.engine import Request, Timing
from strata.engine.fio.command import ioengine_candidates, words
from strata.engine.fio.reading import DriverFacts, ReportReader, result
from strata.engine.fio.stream import Stream, merge_failures
from strata.model import histogram
from strata.model.endpoint import Endpoint
from strata.model.fio_words import plain_uri
from strata.model.plan import Segment
from strata.model.result import EngineResult
from strata.plan.words import workload_from_words

FAILED = "fio: io_u error on file a.0.0: Input/output error: {} offset={}, buflen=4096\n"


def request(rw: str = "randread", **asked: Any) -> Request:
    return Request(
        endpoint=Endpoint.parse("null:"),
        workload=workload_from_words(rw, "4k", **asked),
        segments=(Segment(start=0, length=1 << 20, target=0),),
        timing=Timing(ramp_s=0.1, runtime_s=1, interval_s=0.5),
    )


def times(bins: dict[int, int]) -> dict[str, Any]:
    n = sum(bins.values())
    mean = sum(ns * count for ns, count in bins.items()) / n if n else 0.0
    return {"N": n, "mean": mean, **({"bins": {str(ns): count for ns, count in bins.items()}} if n else {})}


def document(*jobs: tuple[int, dict[int, int]], blocks: int | None = None) -> dict[str, Any]:
    """One entry for each job: milliseconds since its ramp, and its read latencies."""

    def lane(ms: int, bins: dict[int, int]) -> dict[str, Any]:
        done = sum(bins.values()) if blocks is None else blocks
        return {"runtime": ms, "total_ios": done, "io_bytes": 4096 * done, "lat_ns": times(bins), "slat_ns": times({})}

    return {
        "timestamp_ms": 1_000_000 + max(ms for ms, _ in jobs),
        "jobs": [
            {
                "job_runtime": ms,
                "usr_cpu": 50.0,
                "sys_cpu": 25.0,
                "ctx": 3,
                "read": lane(ms, bins),
                "write": lane(0, {}),
            }
            for ms, bins in jobs
        ],
    }


def finished(reading: ReportReader, **told: Any) -> EngineResult:
    given: dict[str, Any] = {"stop_reason": "runtime", "failures": {}, "complete": True, **told}
    return result(reading, {}, DriverFacts(engine={}, effective={}, begun_unix_ns=1, **given))


def test_documents_are_found_between_notes_and_failed_requests() -> None:
    text = json.dumps(document((5, {100: 2})), indent=2)
    inside = text.replace('\n  "jobs"', '\nfio: a note of an old version\n  "jobs"', 1)
    stream = Stream()
    data = f"note: first\n{text}\n{FAILED.format('read', 8192)}{inside}\n{FAILED.format('write', 0)}{text}".encode()
    # However the bytes are cut.
    found = [d for at in range(0, len(data), 7) for d in stream.feed(data[at : at + 7])] + stream.close()
    assert found == [document((5, {100: 2}))] * 3
    assert list(stream.words) == ["note: first", "fio: a note of an old version"]
    assert {(f.direction, f.name, f.first_offset, f.count) for f in stream.failures.values()} == {
        ("read", "EIO", 8192, 1),
        ("write", "EIO", 0, 1),
    }


def test_failures_of_the_ramp_are_kept_apart_and_added() -> None:
    stream = Stream()
    stream.feed((FAILED.format("read", 4096) * 3).encode())
    ramp = stream.forget_failures()
    stream.feed(FAILED.format("read", 0).encode())
    assert [(f.count, f.first_offset) for f in stream.failures.values()] == [(1, 0)]
    merge_failures(ramp, stream.failures)
    assert [(f.count, f.first_offset) for f in ramp.values()] == [(4, 4096)]


def test_a_broken_document_is_a_word() -> None:
    stream = Stream()
    assert stream.feed(b"{\n  broken\n}\n") == []
    assert "unreadable report" in stream.words[0]


def test_intervals_are_the_differences_of_cumulative_documents() -> None:
    reading = ReportReader(request(threads=2))
    # In the ramp nothing is in the buckets; the second job leaves it later.
    assert reading.take(document((90, {}), (90, {})), {}) is None
    first = reading.take(document((10, {100: 5}), (95, {})), {})
    assert first is not None
    assert (first.start_ns, first.end_ns, first.read.ops, first.read.service_sum_ns) == (0, 10_000_000, 5, 500)
    second = reading.take(document((20, {100: 6, 300: 1}), (15, {200: 4})), {})
    assert second is not None
    assert (second.start_ns, second.read.ops, second.read.service_sum_ns) == (10_000_000, 6, 1200)
    # The final one, in the same millisecond: it belongs to the interval before.
    assert reading.take(document((20, {100: 7, 300: 1}), (20, {200: 4})), {}) is None
    made = finished(reading)
    assert [(i.end_ns, i.read.ops, i.read.service_sum_ns) for i in made.intervals] == [
        (10_000_000, 5, 500),
        (20_000_000, 7, 1300),
    ]
    assert (made.ops, made.bytes, made.measured_ns, made.read.service_sum_ns) == (12, 12 * 4096, 20_000_000, 1800)
    assert [(t.read_ops, t.user_ns) for t in made.threads] == [(8, 10_000_000), (4, 10_000_000)]
    assert made.cpu["system_ns"] == 10_000_000
    merged = histogram.merge(i.read.service_time for i in made.intervals)
    assert histogram.decode(merged) == histogram.decode(made.read.service_time)


def test_no_interval_is_without_length() -> None:
    reading = ReportReader(request())
    for ms, count in ((0, 2), (1, 3), (50, 9)):
        reading.take(document((ms, {100: count})), {})
    made = finished(reading)
    assert [(i.start_ns, i.end_ns, i.read.ops) for i in made.intervals] == [
        (0, 1_000_000, 3),
        (1_000_000, 50_000_000, 6),
    ]


def test_counting_that_begins_anew_was_the_ramp() -> None:
    reading = ReportReader(request())
    reading.take(document((90, {100: 50})), {})
    reading.take(document((10, {200: 5})), {})
    made = finished(reading)
    assert (made.ops, made.measured_ns, len(made.intervals)) == (5, 10_000_000, 1)


def test_transfers_of_less_than_a_block_are_no_measurement() -> None:
    reading = ReportReader(request(iodepth=4))
    reading.take(document((500, {100: 1000}), blocks=600), {})
    made = finished(reading)
    assert [(e.name, e.count, e.first_offset) for e in made.read.errors] == [("SHORT", 400, None)]
    assert "400 transfers" in (made.message or "")
    # What was in flight as the ramp ended is in one of fio's counts only, and no short transfer.
    reading = ReportReader(request(iodepth=4))
    reading.take(document((500, {100: 1000}), blocks=996), {})
    assert finished(reading).message is None


def test_bins_of_fio_become_buckets_of_ours() -> None:
    payload = histogram.from_bins({100: 3, 87_552: 2, 7_200_000_000_000: 1})
    values, counts = histogram.decode(payload)
    assert counts == [3, 2, 1]
    # Ours are at most 0.1 % wide; beyond an hour they are clamped.
    assert values == pytest.approx([100, 87_552, 3_600_000_000_000], rel=0.001)
    assert histogram.total(histogram.from_bins({})) == 0


def test_the_blocks_are_those_of_the_native_engine() -> None:
    segment = Segment(start=5000, length=40_000, target=70_000)
    asked = request("read", threads=2).model_copy(update={"segments": (segment,)})
    said = words(asked, "null", "", "-")
    # 8192 is the first multiple of 4096 from 5000 on; up to 45000 there is room for eight blocks, four a thread.
    assert {"--offset=73192", "--size=16384", "--offset_increment=16384"} <= set(said)
    drawn = words(
        asked.model_copy(update={"workload": workload_from_words("randread", "4k", threads=2)}), "null", "", "-"
    )
    assert {"--offset=73192", "--size=32768", "--offset_increment=0", "--norandommap=1"} <= set(drawn)


@pytest.mark.parametrize("rw", ["read", "randread", "write", "randwrite", "randrw"])
def test_readonly_goes_with_reading_and_nothing_is_ever_made(rw: str) -> None:
    said = words(request(rw, **({"rwmixread": 50} if rw == "randrw" else {})), "io_uring", "f", "-")
    assert ("--readonly" in said) == (rw in ("read", "randread"))
    assert {"--allow_file_create=0", "--overwrite=1", "--fallocate=none", "--unlink=0", "--invalidate=0"} <= set(said)


def test_rates_are_of_one_thread_and_direction() -> None:
    said = words(request("randrw", rwmixread=70, rate_iops=2000, threads=2), "null", "", "-")
    assert {"--rate_iops=700,300", "--rate_process=linear"} <= set(said)


def test_a_carrier_that_would_not_keep_the_depth_is_none() -> None:
    file, built = Endpoint.parse("file:/x"), {"io_uring", "libaio", "psync"}
    assert ioengine_candidates(file, workload_from_words("randread", "4k", iodepth=4), built) == ["io_uring", "libaio"]
    assert ioengine_candidates(file, workload_from_words("randread", "4k", iodepth=4, direct=False), built) == [
        "io_uring"
    ]
    assert ioengine_candidates(file, workload_from_words("randread", "4k", direct=False), built) == [
        "io_uring",
        "psync",
    ]
    assert ioengine_candidates(file, workload_from_words("randread", "4k"), {"psync"}) == []
    assert ioengine_candidates(Endpoint.parse("nbd://h/x"), workload_from_words("randread", "4k"), built) == []


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("nbd://h:1/x?connections=4", "nbd://h:1/x"),
        ("nbd+unix:///x?socket=/a/b&connections=4", "nbd+unix:///x?socket=/a/b"),
        ("nbd+unix:///?socket=/a", "nbd+unix:///?socket=/a"),
        ("nbd://h/x?replies=structured&connections=4", "nbd://h/x"),
    ],
)
def test_connections_and_replies_are_words_of_ours(ours: str, theirs: str) -> None:
    assert plain_uri(ours) == theirs


def test_the_time_in_which_gfapi_lets_go_of_a_volume_is_not_measured() -> None:
    """fio counts the seconds after the last I/O to the run time, or the run time twice."""
    asked = request().model_copy(update={"endpoint": Endpoint.parse("gluster://h/v/f")})
    for told, counted_ms in (
        ([(500, 50), (1000, 100), (2000, 100)], 1000),
        ([(500, 50), (17_000, 101)], 1002),
        ([(500, 50), (1001, 101), (1001, 101)], 1001),
    ):
        reading = ReportReader(asked)
        for ms, ops in told:
            reading.take(document((ms, {2_000_000: ops})), {})
        made = finished(reading)
        assert made.measured_ns == counted_ms * 1_000_000
        assert made.ops == told[-1][1] == sum(i.read.ops for i in made.intervals)
        assert made.intervals[-1].end_ns == made.measured_ns
    # The same documents of another endpoint are fio's to know.
    reading = ReportReader(request())
    for ms, ops in ((500, 50), (17_000, 101)):
        reading.take(document((ms, {2_000_000: ops})), {})
    assert finished(reading).measured_ns == 17_000_000_000


def test_nothing_is_measured_on_a_volume_after_fio_was_told_to_end() -> None:
    reading = ReportReader(request().model_copy(update={"endpoint": Endpoint.parse("gluster://h/v/f")}))
    reading.take(document((200, {1_000_000: 20})), {})
    # The documents' clock: 1 000 200 ms when 200 ms of the run were over.
    reading.told_to_end(1_000_300 * 1_000_000)
    reading.take(document((600, {1_000_000: 31})), {})
    assert finished(reading, stop_reason="stopped").measured_ns == 301_000_000
