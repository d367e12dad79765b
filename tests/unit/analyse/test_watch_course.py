"""Counters of a watching in pieces of time, its places, and its changes of level."""

from __future__ import annotations

import pytest

from strata.analyse.watch.course import PIECES_MOST, pieces, rates
from strata.analyse.watch.levels import level_changes
from strata.analyse.watch.places import places
from strata.model.counters import blockdev, cpu, name_of, servers
from strata.model.finding import Cause, VerdictKind
from strata.model.series import Series, SeriesKind
from strata.model.watch import APPLICATION, Slice, WatchedLayer
from tests.unit.diagnose.watched import arrival, disk, observed, queue

NS = 10**9


def _grows(metric: str, per_s: float, first_s: int = 0, end_s: int = 10) -> Series:
    at = range(first_s, end_s + 1)
    return Series(
        metric=metric, unit="x", kind=SeriesKind.COUNTER, labels={"device": "sda"}, t_ns=tuple(s * NS for s in at),
        values=tuple(float(s * per_s) for s in at),
    )  # fmt: skip


def test_pieces_are_half_a_second_and_never_too_many() -> None:
    assert pieces(10)[:3] == (0.0, 0.5, 1.0)
    assert len(pieces(3600)) == PIECES_MOST + 1
    assert pieces(0.1) == (0.0, 0.1)


def test_a_rate_is_told_for_each_piece_and_nothing_where_it_was_not_read() -> None:
    late = _grows(blockdev.WRITES.name, 7, first_s=5)
    found = rates([_grows(blockdev.READS.name, 100), late, _grows(servers.SWITCHES.name, 1)], 0, (0.0, 4.0, 8.0, 10.0))
    read, written = name_of(_grows(blockdev.READS.name, 1)), name_of(late)
    assert found[read] == (100.0, 100.0, 100.0)
    assert found[written] == (None, 7.0, 7.0)
    assert set(found) == {read, written}


def test_places_have_littles_law_and_what_each_io_asks() -> None:
    counters = disk(1600, 16.0, 1.0) | {
        name_of(Series(metric=cpu.SECONDS.name, unit="s", kind=SeriesKind.COUNTER, labels={"cpu": "all", "mode": m},
                       t_ns=(), values=())): v for m, v in (("user", 0.8), ("idle", 1.2))
    }  # fmt: skip
    rows = places(observed(counters, [arrival(queue(16, 4, lambda n, s: 2432))]))
    device = next(r for r in rows if r.kind == "device")
    assert device.request_ns == pytest.approx(1e7)
    assert device.demand_ns == pytest.approx(1e9 / 1600)
    assert device.p50_ns == pytest.approx(4 * 2.432e6)
    cpus = next(r for r in rows if r.kind == "processors")
    assert cpus.demand_ns == pytest.approx(0.8 / 1600 * 1e9)
    assert rows[0].layer == APPLICATION


def _slices(rates_: list[float]) -> list[Slice]:
    return [
        Slice(
            at_unix_ns=n * 10 * NS, seconds=10, kind=VerdictKind.MEDIUM, layer="disk", cause=Cause.MEDIUM,
            confidence=0.6, headline="", layers=(WatchedLayer(layer="disk", what="sda", kind="device", iops=r),),
        )
        for n, r in enumerate(rates_)
    ]  # fmt: skip


def test_a_level_that_stays_changed_is_an_event_and_a_moment_is_none() -> None:
    calm = [1000 + n % 5 for n in range(20)]
    assert level_changes(_slices(calm)) == ()
    assert level_changes(_slices([*calm[:10], 200, *calm[11:]])) == ()
    events = level_changes(_slices([*calm[:10], *(400 + n % 5 for n in range(10))]))
    assert [(e.layer, e.metric, e.at_unix_ns) for e in events] == [("disk", "iops", 100 * NS)]
    assert events[0].says == "sda: I/Os per second from 1\u202f002 to 402"


def test_a_change_of_a_tenth_is_none() -> None:
    assert level_changes(_slices([*(1000 + n % 3 for n in range(10)), *(1100 + n % 3 for n in range(10))])) == ()
