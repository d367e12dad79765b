"""Counters of a watching in pieces of time, its places, and its changes of level."""

from __future__ import annotations

import time

import pytest

from strata.analyse.watch.course import PIECES_MOST, pieces, rates
from strata.analyse.watch.levels import level_changes
from strata.analyse.watch.places import places
from strata.model.counters import blockdev, cpu, name_of, servers
from strata.model.finding import Cause, VerdictKind
from strata.model.series import Series, SeriesKind
from strata.model.watch import APPLICATION, CALLS, ISSUERS_MOST, Issuer, Slice, WatchedLayer
from tests.unit.diagnose.test_watch import SHARE, wire
from tests.unit.diagnose.watched import arrival, disk, issuer, observed, queue

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


def test_a_card_has_the_share_of_its_links_speed_where_that_is_known() -> None:
    seen = observed(disk(400, 1.0, 0.7) | wire(), toml=SHARE)
    (unknown,) = (r for r in places(seen) if r.kind == "card")
    assert (unknown.busy, unknown.demand_ns, unknown.node) == (None, None, "n2")
    (card,) = (
        r for r in places(seen.model_copy(update={"speeds": {"eth0 of n2": 3.3e7, "eth0": 1.0}})) if r.kind == "card"
    )
    assert card.busy == pytest.approx(0.1)
    assert card.demand_ns == pytest.approx(0.1 / 400 * 1e9)


def test_nothing_is_asked_for_an_io_where_no_device_counts_them() -> None:
    seen = observed(wire(), toml=SHARE).model_copy(update={"speeds": {"eth0 of n2": 3.3e7}})
    rows = places(seen)
    assert {r.kind for r in rows} >= {"card", "processors"}
    assert all(r.demand_ns is None for r in rows)


def _calls(*issuers: Issuer) -> WatchedLayer:
    (row,) = (r for r in places(observed(disk(1600, 3.0, 0.9), issuers=issuers)) if r.kind == CALLS)
    return row


def test_files_above_a_device_have_the_system_calls_of_who_uses_them() -> None:
    """Two threads of which each waits for storage in nine of ten looks."""
    mine = issuer(asked_bytes=13.1e6, asked_ios=1600.0)
    assert mine.threads is not None
    two = mine.model_copy(update={"threads": mine.threads.model_copy(update={"threads": 2})})
    row = _calls(two, issuer(pid=7, watched=False, asked_bytes=1e9, asked_ios=1e5))
    assert (row.layer, row.untold) == ("file system", None)
    assert (row.iops, row.bytes_per_second) == (1600, 13.1e6)
    assert row.in_flight == pytest.approx(1.8)
    assert row.request_ns == pytest.approx(1.8 / 1600 * 1e9)


@pytest.mark.parametrize(
    ("mine", "why"),
    [
        ((issuer(asked_bytes=1e3, asked_ios=2.0),), "asynchronous"),
        ((issuer(asked_bytes=1e7),), "were not counted"),
        ((), "no process"),
        ((issuer(pid=7, watched=False),), "no process"),
    ],
)
def test_files_whose_requests_are_not_counted_say_so_and_have_no_figure(mine: tuple[Issuer, ...], why: str) -> None:
    row = _calls(*mine)
    assert why in (row.untold or "")
    assert (row.iops, row.bytes_per_second, row.in_flight, row.request_ns) == (None, None, None, None)


def test_the_calls_of_more_processes_than_are_told_are_no_figure() -> None:
    """The sum of those that are told would be shown as what enters the layer."""
    many = [issuer(pid=n, asked_bytes=1e7, asked_ios=100.0) for n in range(ISSUERS_MOST)]
    assert "more than the 12 processes" in (_calls(*many).untold or "")
    assert _calls(*many[1:]).iops == 1100
    # Who moves least of those that are told is not the load: nobody of it is left out.
    assert _calls(*many[1:], issuer(pid=99, watched=False)).iops == 1100


def test_a_layer_of_files_below_others_has_the_calls_of_the_servers() -> None:
    toml = (
        SHARE.replace("block:/dev/sda", "file:/srv/a.img")
        .replace('on = ["disk"]', 'on = ["image"]')
        .replace(
            '[[layer]]\nname = "disk"',
            '[[layer]]\nname = "medium"\nendpoint = "block:/dev/sda"\n\n[[layer]]\nname = "image"\non = ["medium"]',
        )
    )
    server = issuer(pid=9, name="nbd", watched=False, asked_bytes=2e7, asked_ios=500.0)
    seen = observed(disk(400, 1.0, 0.7), issuers=[server], toml=toml)
    assert [r.untold for r in places(seen) if r.kind == CALLS] == ["no process that uses it is seen"]
    (row,) = (r for r in places(seen.model_copy(update={"servers": (9,)})) if r.kind == CALLS)
    assert (row.layer, row.iops) == ("image", 500)


def test_threads_that_were_hardly_looked_at_tell_no_requests_in_flight() -> None:
    row = _calls(issuer(storage=9, running=1, asked_bytes=13e6, asked_ios=1600.0))
    assert (row.iops, row.in_flight, row.request_ns) == (1600, None, None)


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


def test_processes_that_come_and_go_make_no_event() -> None:
    slices = _slices([*(1000 + n % 5 for n in range(10)), *(400 + n % 5 for n in range(10))])
    calls = [
        one.model_copy(update={"layers": tuple(r.model_copy(update={"kind": CALLS}) for r in one.layers)})
        for one in slices
    ]
    assert level_changes(slices) != () and level_changes(calls) == ()


def test_a_change_of_a_tenth_is_none() -> None:
    assert level_changes(_slices([*(1000 + n % 3 for n in range(10)), *(1100 + n % 3 for n in range(10))])) == ()


def test_changes_of_hundreds_of_places_are_found_in_a_moment() -> None:
    """A host of containers, in the slices that a watching looks at each time: a tenth of the shortest slice at most."""
    cards = tuple(WatchedLayer(layer="share", what=f"veth{n}", kind="card", bytes_per_second=1e6) for n in range(400))
    rates_ = [*(1000 + n % 5 for n in range(30)), *(400 + n % 5 for n in range(30))]
    slices = [one.model_copy(update={"layers": (*cards, *one.layers)}) for one in _slices(rates_)]
    begun = time.process_time()
    events = level_changes(slices)
    assert time.process_time() - begun < 0.5
    assert [(e.layer, e.what, e.metric) for e in events] == [("disk", "sda", "iops")]
