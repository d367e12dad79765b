"""Counters: cut to the measured span, absent when not read, each byte counted once."""

from __future__ import annotations

import pytest

from strata.analyse import counters
from strata.model.counters import Readings
from strata.model.resources import processors_of
from strata.model.series import Series, SeriesKind

from .material import SECOND, START, cell_result, counter, engine_result, workload


def test_a_counter_is_read_over_the_measured_span_only() -> None:
    # ramp: 1 s; measured: 2 s. Nothing during the ramp, 10 per second while measured, 100 per second after.
    t = tuple(START + i * SECOND for i in range(5))
    series = Series(metric="m", unit="", kind=SeriesKind.COUNTER, t_ns=t, values=(0, 0, 10, 20, 120))
    cell = cell_result("a", workload(), 0, engine_result(workload(), 100), [series])
    assert counters.readings(cell).stored == {"m": pytest.approx(10.0)}


def test_edges_between_samples_are_interpolated() -> None:
    t = (START, START + 4 * SECOND)
    series = Series(metric="m", unit="", kind=SeriesKind.COUNTER, t_ns=t, values=(0, 40))
    assert counters.reading(series, START + SECOND, START + 3 * SECOND) == pytest.approx(10.0)


def test_a_reset_counter_says_nothing_and_another_clock_is_taken_whole() -> None:
    t = (START, START + SECOND, START + 2 * SECOND)
    reset = Series(metric="m", unit="", kind=SeriesKind.COUNTER, t_ns=t, values=(5, 9, 1))
    assert counters.reading(reset, START, START + 2 * SECOND) is None
    assert counters.reading(counter("m", 7.0, start=0), START, START + SECOND) == pytest.approx(7.0)


def test_waiting_for_io_is_not_busy_and_the_busiest_is_a_single_one() -> None:
    values = {
        "cpu_seconds{cpu=all,mode=user}": 0.5,
        "cpu_seconds{cpu=all,mode=iowait}": 0.5,
        "cpu_seconds{cpu=all,mode=idle}": 0.9,
        "cpu_seconds{cpu=all,mode=steal}": 0.1,
        "cpu_seconds{cpu=0,mode=user}": 0.6,
        "cpu_seconds{cpu=0,mode=idle}": 0.4,
        "cpu_seconds{cpu=1,mode=user}": 0.0,
        "cpu_seconds{cpu=1,mode=idle}": 1.0,
    }
    found = processors_of(Readings(values))
    assert found is not None
    assert found.busy == pytest.approx(0.3)
    assert found.busiest == pytest.approx(0.6)
    assert found.steal == pytest.approx(0.05)
    assert processors_of(Readings({"cpu_seconds{cpu=all,mode=user}": 1.0})) is None


def test_the_device_is_the_one_that_carries_the_file_system() -> None:
    values = {}
    for name, scale in (("vda", 3.0), ("vda1", 1.0)):
        values |= {
            f"blockdev_read_bytes{{device={name}}}": 100 * scale,
            f"blockdev_write_bytes{{device={name}}}": 0.0,
            f"blockdev_reads{{device={name}}}": 10 * scale,
            f"blockdev_writes{{device={name}}}": 0.0,
            f"blockdev_read_seconds{{device={name}}}": 0.02 * scale,
            f"blockdev_weighted_seconds{{device={name}}}": 4.0 * scale,
        }
    one = counters.device(Readings(values), ["dm-0", "vda1", "vda"])
    assert one is not None and one.name == "vda1"
    assert (one.bytes_per_second, one.in_flight) == (100, 4.0)
    assert one.ns_per_io == pytest.approx(2e6)
    assert counters.device(Readings(values), []) is None  # two devices, no chain: nobody knows which
    assert counters.device(Readings({}), ["vda"]) is None


def test_loopback_bytes_count_once() -> None:
    values = {
        "net_bytes{direction=tx,interface=lo}": 10.0,
        "net_bytes{direction=rx,interface=lo}": 10.0,
        "net_bytes{direction=tx,interface=eth0}": 1.0,
        "net_bytes{direction=rx,interface=eth0}": 5.0,
    }
    assert counters.wire_bytes(Readings(values)) == 15.0
    assert counters.wire_bytes(Readings({})) is None
