"""Rates of other tools as our counters: what is cut out of them is the mean of that piece."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strata.formats.counter_sets import SYSSTAT, WINDOWS, as_ours
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
