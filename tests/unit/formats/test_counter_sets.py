"""Rates of other tools as our counters: what is cut out of them is the mean of that piece."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strata.formats.counter_sets import SYSSTAT, WINDOWS, as_ours, ios_of, sets_of, sets_said
from strata.model.counters.catalogue import catalogue
from strata.model.series import Series, SeriesKind

S = 10**9


def gauge(metric: str, values: list[float], of: str = "vda") -> Series:
    times = tuple(S * (1000 + n) for n in range(len(values)))
    labels = {"tool": "x", "of": of}
    return Series(metric=metric, unit="", kind=SeriesKind.GAUGE, labels=labels, t_ns=times, values=tuple(values))


@given(st.lists(st.floats(0, 1e9), min_size=2, max_size=40))
def test_a_rate_grows_by_itself_each_second(rates: list[float]) -> None:
    [found] = as_ours([gauge("iostat r/s", rates)])
    assert (found.metric, found.labels) == ("blockdev_reads", {"device": "vda"})
    assert found.values[-1] == pytest.approx(sum(rates[1:]))
    assert found.rate == pytest.approx(sum(rates[1:]) / (len(rates) - 1))


def test_a_share_of_busy_time_is_two_modes_of_all_processors() -> None:
    found = {
        s.labels["mode"]: s for s in as_ours([gauge("Processor Information\\% Processor Time", [0, 80, 80], "_Total")])
    }
    assert {mode: s.rate for mode, s in found.items()} == {"user": pytest.approx(0.8), "idle": pytest.approx(0.2)}
    assert {s.labels["cpu"] for s in found.values()} == {"all"}


def test_what_means_something_else_stays_what_it_is() -> None:
    assert list(as_ours([gauge("Cluster CSVFS\\Reads/sec", [1, 2]), gauge("iostat r_await", [1, 2])])) == []
    assert list(as_ours([gauge("PhysicalDisk\\Disk Reads/sec", [1, 2], "_Total")])) == [], "a sum is no device"
    assert list(as_ours([gauge("iostat r/s", [1])])) == [], "one sample has no length"


def test_every_meaning_is_a_counter_of_the_catalogue() -> None:
    known = set(catalogue().values())
    for meanings in (*WINDOWS.values(), *SYSSTAT.values()):
        assert {m.counter for m in meanings} <= known


def test_sets_that_are_absent_are_reported() -> None:
    found = [gauge("PhysicalDisk\\Disk Reads/sec", [1, 2]), gauge("Processor\\% Processor Time", [1, 2])]
    there, absent = sets_of(found)
    assert there == ("PhysicalDisk", "Processor Information")
    assert {"Cluster CSVFS", "SMB Client Shares", "SMB Server Shares", "SMB Direct Connection"} <= set(absent)
    assert sets_said([gauge("iostat r/s", [1, 2])]) == "sets of counters: disks; not in it: processors"
    assert "read in English" in str(sets_said([gauge("Physikalischer Datenträger\\Lesevorgänge/s", [1, 2])]))
    assert sets_said([gauge("node_disk_io_now", [1, 2])]) is None


def test_reads_and_writes_of_a_share_or_a_volume_are_added_up() -> None:
    found = ios_of(
        [
            gauge("Cluster CSVFS\\Reads/sec", [0, 10, 20], "vol1"),
            gauge("Cluster CSVFS\\Writes/sec", [0, 1, 2], "vol1"),
            gauge("SMB Client Shares\\Read Requests/sec", [0, 5, 5], "\\s\\x"),
            gauge("PhysicalDisk\\Disk Read Bytes/sec", [0, 5, 5], "0 D:"),
        ]
    )
    assert {name: total[-1] for name, (_, total) in found.items()} == {
        "Cluster CSVFS vol1": 33,
        "SMB Client Shares \\s\\x": 10,
    }
