"""The rules of `strata watch` where requests are held between the application and the device: on a wire, in parts."""

from __future__ import annotations

import pytest

from strata.diagnose.watch.verdict import Judged, judge
from strata.model.counters import qdisc, servers, tcp
from strata.model.counters.readings import stored_name
from strata.model.finding import Cause, VerdictKind
from strata.model.watch import APPLICATION, DeclaredLoad, Observed
from tests.unit.diagnose.watched import CARD, SHARE, TO, arrival, disk, issuer, observed, queue, said, wire

SERVER = {"process": "smbd", "node": "n1"}
ELSEWHERE = {
    stored_name(qdisc.BACKLOG_BYTES.name, {"discipline": "fq", "handle": "1", **CARD}): 0.0,
    stored_name(servers.RUN_DELAY.name, SERVER): 0.0,
    stored_name(tcp.BUSY.name, {**TO, "end": "server"}): 0.6,
}
"""What holds requests that are neither on the wire nor at the device, and holds none here."""


def _asleep(
    both: float,
    sending: float | None,
    together: bool,
    elsewhere: dict[str, float] | None = None,
    outstanding: int | None = None,
) -> Judged:
    """A load of unknown depth over a wire of 4 ms, whose threads sleep; ``both``: requests on the wire and at the
    device, by the least round trip.
    """
    iops = both / 0.0065
    counters = disk(iops, iops * 0.0025, min(1.0, iops * 0.0025)) | wire(rtt_s=0.004) | (elsewhere or {})
    counters[stored_name(servers.CPU_SECONDS.name, {**SERVER, "mode": "user"})] = 0.1
    if sending is not None:
        counters[stored_name(tcp.BUSY.name, {**TO, "end": "server"})] = sending
    requests = queue(4 if together else 1, 4, lambda n, s: 2200 + 400 * (n % 4))
    seen = observed(counters, [arrival(requests)], [issuer(storage=4, sleeping=96, running=0)], toml=SHARE)
    assert seen.ran is not None
    asked = None if outstanding is None else DeclaredLoad(outstanding=outstanding)
    return judge(seen.model_copy(update={"ran": seen.ran.model_copy(update={"asked": asked})}))


def test_who_sleeps_while_something_is_on_its_way_all_the_time_does_not_limit_itself() -> None:
    """Large answers over a window take several round trips: what the least one accounts for is less than one."""
    for both, together in ((0.5, True), (0.9, True), (1.6, True), (1.6, False)):
        assert said(_asleep(both, 1.0, together))[1:] == ("share", Cause.WIRE_LATENCY)


def test_who_sleeps_and_has_nothing_on_its_way_limits_itself() -> None:
    found = _asleep(0.7, None, together=False, elsewhere=ELSEWHERE, outstanding=1)
    assert said(found) == (VerdictKind.APPLICATION, APPLICATION, Cause.GENERATOR)
    assert found.verdict.confidence >= 0.8


@pytest.mark.parametrize("away", ELSEWHERE)
@pytest.mark.parametrize("both", [0.4, 0.7, 1.1])
def test_where_requests_may_be_that_nobody_counts_an_application_is_not_blamed_for_certain(
    both: float, away: str
) -> None:
    """Replays with counters taken away: a busy server, a cost of each request and a full wire were once told as the
    application's own, at 0.80 to 0.85.
    """
    less = {name: value for name, value in ELSEWHERE.items() if name != away}
    assert _asleep(both, None, together=False, elsewhere=less, outstanding=1).verdict.confidence < 0.8


@pytest.mark.parametrize("outstanding", [None, 8])
def test_what_a_server_has_not_read_yet_is_counted_nowhere(outstanding: int | None) -> None:
    """Few threads of a server, a load of eight at most, and all else counted: once told as the application's own at
    0.80.
    """
    found = _asleep(0.7, None, together=False, elsewhere=ELSEWHERE, outstanding=outstanding)
    assert found.verdict.confidence < 0.8


def test_requests_that_meet_each_other_at_the_device_are_not_one_at_a_time() -> None:
    assert said(_asleep(1.1, 1.0, together=False))[2] is Cause.GENERATOR
    assert said(_asleep(1.1, 1.0, together=True))[2] is Cause.WIRE_LATENCY


def _copied(gap_us: float, service_us: float, ios: int = 80, every: int = 30, rest_us: float = 60_000) -> Observed:
    """`dd bs=1M`: one I/O at a time, which comes as two parts of 512 KiB, begun again now and then. The device serves
    both at once, behind a limit that lets a part through each ``gap_us`` (0: none).
    """
    now = free = 0.0
    rows = []
    for n in range(ios):
        now += rest_us if n and n % every == 0 else 100
        ends = []
        for _ in range(2):
            let = max(now, free)
            free = let + gap_us
            ends.append(let + service_us)
            rows.append((round(now), round(ends[-1] - now)))
        now = max(ends)
    requests = queue(1, 1, lambda n, s: 1, count=len(rows), sizes=(524288,)).model_copy(
        update={"issued_us": tuple(r[0] for r in rows), "took_us": tuple(r[1] for r in rows)}
    )
    rate = len(rows) / now * 1e6
    in_flight = sum(r[1] for r in rows) / now
    counters = disk(rate, in_flight, min(1.0, 0.98), size=524288)
    traced = arrival(requests, splits=len(rows) // 2)
    halved = traced.summary.model_copy(
        update={
            "read": traced.summary.read.model_copy(update={"entered": ios, "bytes": len(rows) * 524288}),
            "splits": ios,
        }
    )
    return observed(counters, [traced.model_copy(update={"summary": halved})])


@pytest.mark.parametrize("ios", [30, 80])
def test_a_cap_on_bytes_is_no_matter_of_splits(ios: int) -> None:
    found = judge(_copied(21_000, 4500, ios=ios, every=25))
    assert said(found) == (VerdictKind.LAYER, "disk", Cause.BANDWIDTH_CAP)
    assert not [f for f in found.findings if f.cause is Cause.SPLITS]


def test_parts_that_take_long_themselves_are_held_by_no_cap() -> None:
    found = judge(_copied(0, 21_000))
    assert found.verdict.cause not in (Cause.BANDWIDTH_CAP, Cause.IOPS_CAP, Cause.SPLITS)


def test_splits_are_named_where_the_parts_own_time_is_what_the_device_gives() -> None:
    """Four servers that are full of parts of 16 KiB, each as long as specified."""
    parts = arrival(queue(64, 4, lambda n, s: 2432, sizes=(16384,)))
    entered = parts.summary.model_copy(
        update={"read": parts.summary.read.model_copy(update={"entered": 50, "bytes": 800 * 16384}), "splits": 750}
    )
    for rate, cause in ((1640, Cause.SPLITS), (600, Cause.UNEXPLAINED)):
        counters = disk(rate, 60.0, 1.0, size=16384)
        seen = parts.model_copy(update={"summary": entered, "requests": None})
        found = judge(observed(counters, [seen]))
        assert said(found)[1:] == ("disk", cause)


@pytest.mark.parametrize(
    ("sending", "busy", "cause"), [(0.98, 0.44, Cause.WIRE_LATENCY), (0.5, 0.44, None), (0.98, 0.8, None)]
)
def test_answers_that_take_several_round_trips_are_the_wires(sending: float, busy: float, cause: Cause | None) -> None:
    """As 128 KiB at depth 8 over 2.9 ms were seen: a round trip is 38 % of what is counted of a request."""
    counters = disk(264, 1.26, busy, size=131072) | wire(rtt_s=0.0029)
    counters[stored_name(tcp.BUSY.name, {**TO, "end": "server"})] = sending
    requests = queue(4, 4, lambda n, s: 3000 + 400 * (n % 4), sizes=(131072,))
    found = judge(observed(counters, [arrival(requests)], toml=SHARE))
    assert (found.verdict.cause is Cause.WIRE_LATENCY) is (cause is Cause.WIRE_LATENCY)
    assert found.verdict.confidence < 0.8


def _arriving(took_us: int) -> Observed:
    """One request each 2.08 ms as a full wire lets them in, at a device that serves four of 2.9 ms at once."""
    count = 600
    even = queue(1, 1, lambda n, s: 1, count=count, sizes=(131072,)).model_copy(
        update={"issued_us": tuple(2080 * n for n in range(count)), "took_us": (took_us,) * count}
    )
    full = {stored_name(qdisc.BACKLOG_BYTES.name, {"discipline": "fq", "handle": "1", **CARD}): 2.6e5}
    full[stored_name(qdisc.OVERLIMITS.name, {"discipline": "fq", "handle": "1", **CARD})] = 500.0
    full[stored_name("net_bytes", {**CARD, "direction": "rx"})] = 1.3e8
    counters = disk(480, 480e-6 * took_us, 0.97, size=131072) | wire() | full
    return observed(counters, [arrival(even)], toml=SHARE)


def test_an_even_pace_of_requests_that_do_not_wait_is_that_of_their_arrivals() -> None:
    """Once told as a cap of the device at 0.72, beside a wire that others fill."""
    found = judge(_arriving(2950))
    assert said(found) == (VerdictKind.LAYER, "share", Cause.NOISY_WIRE)
    assert not {Cause.BANDWIDTH_CAP, Cause.IOPS_CAP} & {f.cause for f in found.findings}
    # Those that take much longer wait for a limit.
    assert Cause.BANDWIDTH_CAP in {f.cause for f in judge(_arriving(16_000)).findings}


@pytest.mark.parametrize(("outstanding", "took_ms", "named"), [(8, 3.2, True), (3, 3.2, False), (8, 6.0, False)])
def test_what_is_neither_at_a_device_that_keeps_up_nor_counted_elsewhere_is_on_a_far_wire(
    outstanding: int, took_ms: float, named: bool
) -> None:
    """As 128 KiB at depth 8 over 1.5 ms were seen, of a device that is never idle for long."""
    counters = disk(600, 0.6 * took_ms, 0.89, size=131072) | wire(rtt_s=0.0015)
    counters[stored_name(tcp.BUSY.name, {**TO, "end": "server"})] = 0.99
    seen = observed(counters, toml=SHARE)
    assert seen.ran is not None
    asked = DeclaredLoad(outstanding=outstanding)
    found = judge(seen.model_copy(update={"ran": seen.ran.model_copy(update={"asked": asked})}))
    assert (found.verdict.cause is Cause.WIRE_LATENCY) is named
    assert found.verdict.confidence < 0.8
