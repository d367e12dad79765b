"""One cell over its rounds: exact sums, percentiles only where samples carry them, absent stays absent."""

from __future__ import annotations

import base64
import zlib

import pytest
from hdrh.histogram import HdrHistogram

from strata.analyse import cell_summary
from strata.analyse.rounds import supported

from .material import cell_result, counter, engine_result, workload


def payload(values: list[int]) -> str:
    """A V2 payload made by another implementation: its compressed envelope taken off."""
    histogram = HdrHistogram(1, 3_600_000_000_000, 3)
    for value in values:
        histogram.record_value(value)
    envelope = base64.b64decode(histogram.encode())
    return base64.b64encode(zlib.decompress(envelope[8:])).decode()


def test_percentiles_come_from_the_merged_histogram_and_their_intervals_from_the_rounds() -> None:
    w = workload()
    rounds = []
    for r, shift in enumerate((0, 1000, 2000)):
        times = [100_000 + shift + 10 * i for i in range(2000)]
        rounds.append(cell_result("a", w, r, engine_result(w, 1000, payload=payload(times))))
    cell = cell_summary("a", w, rounds)
    assert cell is not None
    assert set(cell.latency_ns) == {"50", "90", "95"}  # 6 000 I/Os: 60 lie beyond p99
    p50 = cell.latency_ns["50"]
    assert p50.value == pytest.approx(111_000, rel=0.002)
    assert p50.n == 3 and p50.low is not None and p50.low < p50.value
    assert [v for _, v in cell.curve] == sorted(v for _, v in cell.curve)
    assert cell.curve[0][0] == 0.0 and cell.curve[-1][0] == 100.0


def test_support_needs_a_hundred_beyond() -> None:
    assert supported(("50", "99"), 9_999) == ("50",)
    assert supported(("50", "99"), 10_000) == ("50", "99")
    assert supported(("50",), 199) == ()


def test_outstanding_is_littles_product_of_what_was_measured() -> None:
    w = workload(depth=8)
    cell = cell_summary("a", w, [cell_result("a", w, r, engine_result(w, 1000, mean_ns=4e6)) for r in range(3)])
    assert cell is not None and cell.outstanding == pytest.approx(4.0)


def test_counters_become_shares_per_application_byte() -> None:
    w = workload(kib=8)
    app = 1000 * 8192
    seen = [
        counter("blockdev_read_bytes", app * 1.5, device="vda"),
        counter("blockdev_write_bytes", 0, device="vda"),
        counter("blockdev_reads", 1000, device="vda"),
        counter("blockdev_writes", 0, device="vda"),
        counter("blockdev_read_seconds", 5.0, device="vda"),
        counter("blockdev_weighted_seconds", 5.0, device="vda"),
        counter("net_bytes", app * 1.01, interface="lo", direction="tx"),
        counter("cpu_seconds", 1.2, cpu="all", mode="system"),
        counter("cpu_seconds", 0.8, cpu="all", mode="idle"),
    ]
    result = engine_result(w, 1000, cpu={"user_ns": 4_000_000, "system_ns": 6_000_000, "run_delay_ns": None})
    cell = cell_summary("a", w, [cell_result("a", w, 0, result, seen)], chain=["vda"])
    assert cell is not None
    assert cell.device_read_bytes_per_byte == pytest.approx(1.5)
    assert cell.device_in_flight == pytest.approx(5.0)
    assert cell.device_busy_ns_per_io == pytest.approx(5e6)
    assert cell.wire_bytes_per_byte == pytest.approx(1.01)
    assert cell.cpu_busy == pytest.approx(0.6)
    assert cell.engine_cpu_ns_per_io == pytest.approx(5000)
    assert cell.counters["cpu_seconds{cpu=all,mode=system}"] == pytest.approx(1.2)


def test_what_was_not_read_is_none_and_failed_rounds_are_not_rounds() -> None:
    w = workload()
    failed = cell_result("a", w, 1, None, error="connection refused")
    cell = cell_summary("a", w, [cell_result("a", w, 0, engine_result(w, 1000)), failed])
    assert cell is not None and cell.rounds == 1
    assert cell.iops.low is None
    assert (cell.cpu_busy, cell.device_in_flight, cell.wire_bytes_per_byte, cell.latency_ns) == (None, None, None, {})
    assert cell_summary("a", w, [failed]) is None


def test_a_measurement_cut_short_counts_only_where_there_is_no_whole_one() -> None:
    w = workload()
    cut = cell_result("a", w, 1, engine_result(w, 9000, seconds=0.05), error="stopped after 0.05 s")
    whole = cell_result("a", w, 0, engine_result(w, 1000))
    both, alone = cell_summary("a", w, [whole, cut]), cell_summary("a", w, [cut])
    assert both is not None and (both.rounds, both.iops.value) == (1, 1000)
    assert alone is not None and alone.iops.value == pytest.approx(9000)


def test_a_layer_is_held_against_the_devices_under_it_and_not_under_another() -> None:
    """A file on two devices that share it, beside a third one that somebody else uses."""
    w = workload(kib=8)
    seen = [
        counter(f"blockdev_{what}", rate * part, device=name)
        for name, part in (("loop1", 0.6), ("loop2", 0.4), ("vda", 9.0))
        for what, rate in (
            ("read_bytes", 1000 * 8192),
            ("write_bytes", 0),
            ("reads", 2000),
            ("writes", 0),
            ("read_seconds", 5.0),
            ("weighted_seconds", 5.0),
        )
    ]
    where = {"devices": ("loop1", "loop2", "vda"), "carriers": ("loop1", "loop2")}
    rounds = [cell_result("a", w, r, engine_result(w, 1000), seen, **where) for r in range(3)]
    cell = cell_summary("a", w, rounds, chain=["vda"])
    assert cell is not None
    assert (cell.devices, cell.carriers) == (("loop1", "loop2", "vda"), ("loop1", "loop2"))
    assert cell.device_read_bytes_per_byte == pytest.approx(1.0), "half of it is on each: no cache answered"
    assert cell.device_in_flight == pytest.approx(5.0)
    assert cell.device_busy_ns_per_io == pytest.approx(2.5e6)
    assert cell.notes == ()
    by = {(f.name, f.direction): f for f in cell.flows}
    assert set(by) == {("loop1", "read"), ("loop2", "read"), ("vda", "read"), ("loop1 + loop2", "read")}
    both = by["loop1 + loop2", "read"]
    assert both.kind == "device" and both.per_byte.value == pytest.approx(1.0)
    assert both.per_io is not None and both.per_io.value == pytest.approx(2.0), "each request was split in two"
    one = by["loop1", "read"]
    assert one.per_io is not None and one.per_io.value == pytest.approx(1.2)
    # Of runs that do not say it, the chain of the survey is meant.
    old = cell_summary("a", w, [cell_result("a", w, 0, engine_result(w, 1000), seen)], chain=["vda"])
    assert old is not None and old.device_read_bytes_per_byte == pytest.approx(9.0)


def test_a_cell_without_devices_is_saved_as_before() -> None:
    w = workload()
    bare = cell_result("a", w, 0, None).model_dump(mode="json")
    assert not {"devices", "carriers"} & set(bare)
