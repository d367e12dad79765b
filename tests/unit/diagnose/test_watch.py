"""The rules of `strata watch` on loads that are worked out: the right layer and cause, and none where evidence
lacks.
"""

from __future__ import annotations

import heapq
import random

import pytest

from strata.diagnose.watch.verdict import Judged, judge
from strata.model.counters import cgroup, net, qdisc, servers, tcp
from strata.model.counters.readings import stored_name
from strata.model.finding import Cause, VerdictKind
from strata.model.watch import APPLICATION, Observed, Sharer
from tests.unit.diagnose.watched import (
    APP,
    CARD,
    FULL,
    ON,
    SHARE,
    SPEC,
    TO,
    arrival,
    disk,
    issuer,
    observed,
    queue,
    said,
    wire,
)


def full(servers_: int, service_us: float, expect: str = SPEC, **more: float) -> Observed:
    """Sixteen outstanding on so many servers."""
    iops = servers_ * 1e6 / service_us
    return observed(disk(iops, **FULL, **more), [arrival(queue(16, servers_, lambda n, s: service_us))], expect=expect)


def test_an_idle_device_is_said_to_be_idle() -> None:
    found = judge(observed(disk(0.1, 0.0, 0.0), issuers=[issuer(storage=0, sleeping=100, running=0)]))
    assert said(found) == (VerdictKind.IDLE, None, Cause.NONE)
    assert found.verdict.confidence >= 0.9


def test_a_device_that_hardly_works_is_idle_unless_it_is_a_commands_load() -> None:
    light = observed(disk(14, 0.002, 0.002), issuers=[issuer(storage=1, sleeping=99, running=0)])
    assert judge(light.model_copy(update={"ran": None})).verdict.kind is VerdictKind.IDLE
    found = judge(light).verdict
    assert found.kind is VerdictKind.APPLICATION
    assert "hardly anything" in found.explanation


def test_a_load_that_the_page_cache_answers_is_not_called_idle() -> None:
    found = judge(observed(disk(0.1, 0.0, 0.0), issuers=[issuer(asked_bytes=2e9, read_bytes=0.0)]))
    assert said(found) == (VerdictKind.APPLICATION, APPLICATION, Cause.CACHE_FLATTERS)


def test_one_request_at_a_time_is_the_applications_own_limit() -> None:
    found = judge(observed(disk(400, 0.98, 0.98), [arrival(queue(1, 4, lambda n, s: 2450))]))
    assert said(found) == (VerdictKind.APPLICATION, APPLICATION, Cause.GENERATOR)
    assert "one request at a time" in found.verdict.headline


def test_pauses_are_the_applications_and_bound_what_storage_could_give() -> None:
    found = judge(observed(disk(55, 0.13, 0.13), issuers=[issuer(storage=14, sleeping=86, running=0)]))
    assert said(found) == (VerdictKind.APPLICATION, APPLICATION, Cause.GENERATOR)
    assert found.verdict.confidence > 0.8
    assert "at most 1.1 times" in found.verdict.explanation


def test_who_asks_a_server_that_is_not_seen_tells_less_by_its_threads() -> None:
    """They wait for no storage, whatever holds the server."""
    seen = observed(disk(55, 0.13, 0.13), issuers=[issuer(storage=14, sleeping=86, running=0)])
    found = judge(seen.model_copy(update={"serving_untold": "the socket diagnostics are refused"}))
    assert said(found) == (VerdictKind.APPLICATION, APPLICATION, Cause.GENERATOR)
    assert found.verdict.confidence < 0.8
    assert any("who serves the command" in one for one in found.verdict.missing)


def test_whoever_waits_for_storage_beside_an_idle_device_does_not_pause() -> None:
    found = judge(observed(disk(55, 0.13, 0.13), issuers=[issuer(storage=98, sleeping=0, running=2)]))
    assert found.verdict.kind is VerdictKind.INCONCLUSIVE


def test_an_application_held_back_by_its_quota_is_named() -> None:
    found = judge(observed(disk(200, 0.4, 0.3), issuers=[issuer(throttled=0.9)]))
    assert said(found) == (VerdictKind.APPLICATION, APPLICATION, Cause.CLIENT_PROCESSORS)


def test_a_full_device_that_gives_what_it_is_specified_for_is_the_medium() -> None:
    assert said(judge(full(4, 2432))) == (VerdictKind.MEDIUM, "disk", Cause.MEDIUM)


@pytest.mark.parametrize(
    ("servers_", "service_us", "cause"),
    [(4, 9600, Cause.SLOW_MEDIUM), (1, 2432, Cause.LIMITED_QUEUE), (2, 2432, Cause.LIMITED_QUEUE)],
)
def test_service_time_and_servers_tell_a_slow_medium_from_a_queue(
    servers_: int, service_us: float, cause: Cause
) -> None:
    found = judge(full(servers_, service_us))
    assert said(found) == (VerdictKind.LAYER, "disk", cause)
    assert found.verdict.confidence >= 0.75


def test_without_a_specification_a_full_device_limits_and_nothing_is_said_of_its_health() -> None:
    found = judge(full(4, 9600, expect=""))
    assert said(found) == (VerdictKind.MEDIUM, "disk", Cause.MEDIUM)
    assert found.verdict.confidence < 0.8
    assert any("expect.latency" in m for m in found.verdict.missing)


def test_without_single_requests_the_device_is_named_and_what_would_tell() -> None:
    found = judge(observed(disk(400, **FULL)))
    assert said(found) == (VerdictKind.LAYER, "disk", Cause.UNEXPLAINED)
    assert found.verdict.confidence < 0.8
    assert any("trace" in m for m in found.verdict.missing)


def elsewhere(seen: Observed, node: str = "n1") -> Observed:
    """The same, with its device on another machine, and with it who issues."""
    return seen.model_copy(
        update={
            "rates": {name.replace("}", f",node={node}}}"): values for name, values in seen.rates.items()},
            "reached": tuple(one.model_copy(update={"node": node}) for one in seen.reached),
            "issuers": tuple(one.model_copy(update={"node": node}) for one in seen.issuers),
            "starts": {f"{name} of {node}": at for name, at in seen.starts.items()},
        }
    )


def test_a_device_of_a_node_is_judged_as_one_of_this_machine() -> None:
    begins = {"starts": {"sda": 63 * 512}}
    for seen in (
        observed(disk(400, **FULL)),
        observed(disk(1640, **FULL)),
        observed(disk(55, 0.13, 0.13), issuers=[issuer(storage=14, sleeping=86, running=0)]),
        observed(disk(300, **FULL, READS=0.0, WRITES=300.0)).model_copy(update=begins),
        observed(disk(0.1, 0.0, 0.0), issuers=[issuer(storage=0, sleeping=100, running=0)]),
    ):
        found = judge(elsewhere(seen))
        assert said(found) == said(judge(seen))
        assert next(r.what for r in found.layers if r.kind == "device") == "sda of n1"
        assert [r.what for r in found.layers if r.kind == "process"] == [f"app/{APP} of n1"]


def test_process_numbers_of_two_machines_are_not_mixed_up() -> None:
    """Who issues on this machine has nothing to do with the device of another one, whatever its number is."""
    here = issuer(throttled=0.9, watched=False)
    there = issuer(watched=False, name="db", read_bytes=5e6).model_copy(update={"node": "n1"})
    seen = elsewhere(observed(disk(400, **FULL))).model_copy(update={"issuers": (here, there), "ran": None})
    assert judge(seen).verdict.cause is not Cause.CLIENT_PROCESSORS
    # A neighbour there is one.
    other = there.model_copy(update={"pid": APP + 1, "name": "backup", "read_bytes": 2e8})
    load = there.model_copy(update={"watched": True, "read_bytes": 2e7})
    rate = disk(400, **FULL, READ_BYTES=2e8)
    seen = elsewhere(observed(rate)).model_copy(update={"issuers": (here, load, other)})
    assert any("backup" in f.title and "of n1" in f.title for f in judge(seen).findings)


def test_a_device_that_begins_between_blocks_is_named_where_a_load_waits_for_it() -> None:
    seen = observed(disk(300, **FULL, READS=0.0, WRITES=300.0)).model_copy(update={"starts": {"sda": 63 * 512}})
    assert said(judge(seen)) == (VerdictKind.LAYER, "disk", Cause.MISALIGNED)
    aligned = seen.model_copy(update={"starts": {"sda": 1 << 20}})
    assert judge(aligned).verdict.cause is not Cause.MISALIGNED


@pytest.mark.parametrize(
    ("begins", "size", "took_ms", "expect", "cause"),
    [
        (63 * 512, 8192, 4.8, "", Cause.MISALIGNED),
        (63 * 512, 8192, 4.8, SPEC, Cause.MISALIGNED),
        # As long as specified; few of a write's blocks; between no blocks.
        (63 * 512, 8192, 2.4, SPEC, Cause.GENERATOR),
        (63 * 512, 1 << 20, 9.8, "", Cause.GENERATOR),
        (1 << 20, 8192, 4.8, "", Cause.GENERATOR),
    ],
)
def test_one_write_after_the_other_waits_for_the_blocks_that_each_reads_first(
    begins: int, size: int, took_ms: float, expect: str, cause: Cause
) -> None:
    rate = 1000 / took_ms
    written = disk(rate, 0.98, 0.97, size=size, READS=0.0, WRITES=rate, FLUSHES=0.3, FLUSH_SECONDS=0.0)
    seen = observed(written, expect=expect).model_copy(update={"starts": {"sda": begins}})
    found = judge(seen)
    assert found.verdict.cause is cause
    assert found.verdict.cause is not Cause.MISALIGNED or found.verdict.confidence < 0.8


def test_a_rate_as_specified_with_requests_waiting_is_the_medium_without_any_trace() -> None:
    assert said(judge(observed(disk(1640, **FULL)))) == (VerdictKind.MEDIUM, "disk", Cause.MEDIUM)


def test_stalls_come_before_what_the_device_gives_in_between() -> None:
    counters = disk(1300, **FULL, STALLS=2.0, STALLED_SECONDS=0.25)
    found = judge(observed(counters, [arrival(queue(16, 4, lambda n, s: 2432))]))
    assert said(found) == (VerdictKind.LAYER, "disk", Cause.STALLS)
    assert found.verdict.confidence >= 0.8


def test_a_slow_device_that_completes_rarely_does_not_stall() -> None:
    found = judge(observed(disk(25, **FULL, STALLS=20.0, STALLED_SECONDS=0.8)))
    assert found.verdict.cause is not Cause.STALLS


def _phases(flying_in_slow: int) -> Observed:
    level = [33, 33, 33, 33, 33, 33, 33, 33, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8] * 4
    flying = [16 if n == 33 else flying_in_slow for n in level]
    seen = arrival(queue(16, 4, lambda n, s: 2432), done=tuple(level), flying=tuple(flying), seconds=1.6)
    return observed(disk(900, **FULL), [seen])


def test_two_levels_with_as_many_in_flight_are_slow_phases() -> None:
    assert said(judge(_phases(16))) == (VerdictKind.LAYER, "disk", Cause.SLOW_PHASES)


def test_batches_of_an_even_pace_are_no_slow_phases() -> None:
    """Four servers of 12.1 ms that end together: a bin of 20 ms has one batch or two."""
    requests = queue(8, 4, lambda n, s: 12_100 + n % 3)
    ends = [i + t for i, t in zip(requests.issued_us, requests.took_us, strict=True)]
    done = tuple(sum(20_000 * k <= end < 20_000 * (k + 1) for end in ends) for k in range(60))
    assert {*done[1:-1]} <= {4, 8}
    seen = arrival(requests, done=done, flying=(8,) * 60, seconds=1.2)
    found = judge(observed(disk(330, 7.9, 1.0), [seen], expect=""))
    assert Cause.SLOW_PHASES not in {f.cause for f in found.findings}


def test_two_levels_of_a_load_that_paused_are_none() -> None:
    assert judge(_phases(1)).verdict.cause is not Cause.SLOW_PHASES


def test_requests_of_others_in_the_same_queue_are_a_neighbours() -> None:
    sharers = (Sharer(pid=APP, name="app", share=0.5), Sharer(pid=7, name="other", share=0.5))
    found = judge(observed(disk(1640, **FULL), [arrival(queue(16, 4, lambda n, s: 2432), sharers=sharers)]))
    assert said(found) == (VerdictKind.LAYER, "disk", Cause.NOISY_DEVICE)
    assert "other/7" in found.verdict.headline


def _of_a_database(serving: tuple[int, ...], own_bytes: float = 0.0, untold: str = "") -> Judged:
    """A client that issues nothing itself, beside a process that has nearly all requests of a full device."""
    sharers = (Sharer(pid=7, name="postgres", share=0.9), Sharer(pid=8, name="jbd2", share=0.1, kernel=True))
    who = [issuer(read_bytes=own_bytes), issuer(pid=7, name="postgres", watched=False)]
    seen = observed(disk(1640, **FULL), [arrival(queue(16, 4, lambda n, s: 2432), sharers=sharers)], issuers=who)
    return judge(seen.model_copy(update={"serving": serving, "serving_untold": untold}))


def test_who_serves_the_command_is_no_neighbour() -> None:
    found = _of_a_database(serving=(7,))
    assert said(found) == (VerdictKind.MEDIUM, "disk", Cause.MEDIUM)
    assert not [f for f in found.findings if f.cause is Cause.NOISY_DEVICE]
    assert any("served by postgres" in one.because for one in found.ruled_out)


def test_where_nobody_is_seen_to_serve_a_command_without_requests_no_neighbour_is_named() -> None:
    found = _of_a_database(serving=())
    assert said(found) == (VerdictKind.MEDIUM, "disk", Cause.MEDIUM)
    # Who else has requests is not known either.
    assert found.verdict.confidence < 0.8
    (neighbour,) = [f for f in found.findings if f.cause is Cause.NOISY_DEVICE]
    assert neighbour.confidence < 0.5
    assert any("who serves the command" in one for one in found.verdict.missing)


def test_where_the_commands_connections_may_not_be_looked_at_no_neighbour_is_named() -> None:
    """It issues some itself, as a client of a database that writes a log: most may still be its server's."""
    moves = 0.2 * 1640 * 4096
    assert _of_a_database((), moves).verdict.cause is Cause.NOISY_DEVICE
    found = _of_a_database((), moves, untold="the socket diagnostics are refused: Permission denied")
    assert said(found) == (VerdictKind.MEDIUM, "disk", Cause.MEDIUM)
    # Nor is the medium's own limit sure: nine tenths of the requests may be a neighbour's.
    assert found.verdict.confidence < 0.8
    (neighbour,) = [f for f in found.findings if f.cause is Cause.NOISY_DEVICE]
    assert neighbour.confidence < 0.5
    assert any("diagnostics are refused" in one for one in found.verdict.missing)


def test_what_a_command_begins_again_and_again_is_its_own() -> None:
    """Only some of many processes are told with what they moved; others came and went between two looks."""
    requests = queue(16, 4, lambda n, s: 2432)
    for family, names in (((7, 8), ("dd", "dd")), ((7,), ("dd", "dd")), ((), ("cp", "tar"))):
        sharers = tuple(Sharer(pid=7 + n, name=name, share=0.5) for n, name in enumerate(names))
        seen = observed(disk(1640, **FULL), [arrival(requests, sharers=sharers)], issuers=[issuer(name="dd")])
        found = judge(seen.model_copy(update={"family": family}))
        assert (found.verdict.cause is Cause.NOISY_DEVICE) is (not family)
        # Of one that is known to be somebody else's the name says nothing.
        stranger = issuer(pid=8, name="dd", watched=False)
        seen = seen.model_copy(update={"family": (7,), "issuers": (*seen.issuers, stranger)})
        assert any(f.cause is Cause.NOISY_DEVICE for f in judge(seen).findings)


def test_a_command_whose_pages_the_kernel_writes_has_requests_of_its_own() -> None:
    found = _of_a_database(serving=(), own_bytes=0.5 * 1640 * 8192)
    assert said(found)[2] is Cause.NOISY_DEVICE
    assert found.verdict.confidence >= 0.8


def test_threads_of_the_kernel_are_nobodys() -> None:
    sharers = (Sharer(pid=APP, name="app", share=0.5), Sharer(pid=7, name="jbd2", share=0.5, kernel=True))
    found = judge(observed(disk(1640, **FULL), [arrival(queue(16, 4, lambda n, s: 2432), sharers=sharers)]))
    assert found.verdict.cause is Cause.MEDIUM


def test_a_load_that_waits_for_flushes_is_told_so() -> None:
    counters = disk(40, 0.95, 0.95, WRITES=40.0, READS=0.0, WRITE_BYTES=40 * 8192.0, FLUSHES=20.0, FLUSH_SECONDS=0.8)
    found = judge(observed(counters))
    assert said(found) == (VerdictKind.LAYER, "disk", Cause.SLOW_FLUSH)


def test_commits_that_share_a_flush_wait_for_it_as_empty_writes() -> None:
    """Of five in flight a tenth carries data; the flushes themselves are in flight for a fifth of the time."""
    data = queue(1, 4, lambda n, s: 2400, count=250)
    traced = arrival(data, seconds=1.0)
    counters = disk(550, 5.0, 1.0, READS=0.0, WRITES=550.0, FLUSHES=140.0, FLUSH_SECONDS=0.83)
    found = judge(observed(counters, [traced]))
    assert said(found) == (VerdictKind.LAYER, "disk", Cause.SLOW_FLUSH)


def test_short_flushes_do_not_explain_writes_that_wait_for_long() -> None:
    """A slow member holds the writes that a commit waits for; the flushes between them take next to nothing."""
    data = queue(2, 4, lambda n, s: 5000, count=250)
    counters = disk(400, 5.0, 0.93, READS=0.0, WRITES=400.0, FLUSHES=88.0, FLUSH_SECONDS=0.08)
    found = judge(observed(counters, [arrival(data, seconds=1.0)], expect=""))
    assert found.verdict.layer == "disk"
    assert Cause.SLOW_FLUSH not in {f.cause for f in found.findings}


def test_slow_phases_that_stand_still_now_and_then_are_slow_phases() -> None:
    seen = _phases(16)
    stalls = {
        name: (0.1 if "stalled" in name else 2.0 if "stalls" in name else v[0],) * 20 for name, v in seen.rates.items()
    }
    found = judge(seen.model_copy(update={"rates": stalls}))
    assert said(found) == (VerdictKind.LAYER, "disk", Cause.SLOW_PHASES)


def test_too_short_a_time_decides_nothing() -> None:
    found = judge(full(4, 9600).model_copy(update={"seconds": 1.0}))
    assert found.verdict.kind is VerdictKind.INCONCLUSIVE


def over(counters: dict[str, float], iops: float, in_flight: float, busy: float) -> Judged:
    return judge(observed(disk(iops, in_flight, busy) | counters, toml=SHARE))


def test_a_far_wire_holds_the_requests() -> None:
    found = over(wire(rtt_s=0.02), 400, 1.0, 0.7)
    assert said(found) == (VerdictKind.LAYER, "share", Cause.WIRE_LATENCY)
    assert found.verdict.confidence >= 0.8


def test_a_near_wire_before_a_full_device_is_not_blamed() -> None:
    found = over(wire(), 1640, 15.5, 1.0)
    assert found.verdict.layer == "disk"


def test_what_else_could_limit_has_to_be_seen_before_a_full_medium_is_certain() -> None:
    """Without stalls, without knowing whose the requests are: the medium, and not for certain."""
    whole = full(4, 2432)
    assert judge(whole).verdict.confidence >= 0.8
    unstalled = {name: v for name, v in whole.rates.items() if "stall" not in name}
    assert judge(whole.model_copy(update={"rates": unstalled})).verdict.confidence < 0.8
    nobodys = whole.model_copy(update={"issuers": (), "ran": None})
    assert judge(nobodys).verdict.confidence < 0.8


def test_segments_that_are_lost_are_named() -> None:
    found = over(wire() | {stored_name(tcp.RESENT.name, ON): 60.0}, 400, 1.0, 0.7)
    assert said(found)[1:] == ("share", Cause.WIRE_LOSS)


def test_a_queue_before_a_card_is_a_full_wire_and_others_bytes_make_it_a_neighbours() -> None:
    label = {**CARD, "discipline": "tbf", "handle": "1:"}
    queued = {stored_name(qdisc.BACKLOG_BYTES.name, label): 2e5, stored_name(qdisc.OVERLIMITS.name, label): 900.0}
    assert said(over(wire() | queued, 400, 1.0, 0.7))[1:] == ("share", Cause.WIRE_BANDWIDTH)
    more = {stored_name(net.BYTES.name, {**CARD, "direction": "rx"}): 3e7}
    neighbour = over(wire() | queued | more, 400, 1.0, 0.7)
    assert said(neighbour)[1:] == ("share", Cause.NOISY_WIRE) and neighbour.verdict.confidence > 0.8
    # What the command and its own server say to each other passes the card, too.
    seen = observed(disk(400, 1.0, 0.7) | wire() | queued | more, toml=SHARE)
    found = judge(seen.model_copy(update={"serving_untold": "the socket diagnostics are refused"}))
    assert found.verdict.confidence < 0.8
    assert any("who serves the command" in one for one in found.verdict.missing)


def test_a_server_under_a_quota_is_named() -> None:
    of = {"cgroup": "/servers", "node": "n1", "process": "nbd"}
    held = {stored_name(cgroup.PERIODS.name, of): 100.0, stored_name(cgroup.THROTTLED_PERIODS.name, of): 80.0}
    assert said(over(wire() | held, 400, 1.0, 0.7))[1:] == ("share", Cause.QUOTA)


def test_a_thread_that_is_never_idle_is_named() -> None:
    of = {"process": "nbd", "node": "n1"}
    busy = {
        stored_name(servers.BUSIEST_THREAD.name, of): 0.97,
        stored_name(servers.CPU_SECONDS.name, {**of, "mode": "user"}): 0.97,
    }
    assert said(over(wire() | busy, 400, 1.0, 0.7))[1:] == ("share", Cause.SINGLE_THREAD)


def test_nothing_confident_is_wrong_when_counters_are_taken_away() -> None:
    """Any half of the counters, with and without traces: never the wrong layer at 0.8 and more."""
    chance = random.Random(3)
    scenes = [(full(4, 9600), "disk"), (full(1, 2432), "disk"), (full(4, 2432), "disk")]
    for seen, layer in scenes:
        for _ in range(40):
            kept = {name: v for name, v in seen.rates.items() if chance.random() < 0.5}
            less = seen.model_copy(update={"rates": kept, "arrivals": seen.arrivals if chance.random() < 0.5 else ()})
            verdict = judge(less).verdict
            assert verdict.confidence < 0.8 or verdict.layer == layer


def test_requests_that_all_others_overtake_are_a_slow_members() -> None:
    """Four members of one server each, one of them twenty times slower; every fourth request goes to each."""
    free, rows, slots = [0.0] * 4, [], [0.0] * 16
    chance = random.Random(5)
    for _ in range(600):
        issued = heapq.heappop(slots)
        member = chance.randrange(4)
        done = max(issued, free[member]) + (24000 if member == 0 else 1200)
        free[member] = done
        heapq.heappush(slots, done)
        rows.append((round(issued), round(done - issued)))
    rows.sort()
    requests = queue(1, 1, lambda n, s: 1, count=600).model_copy(
        update={"issued_us": tuple(r[0] for r in rows), "took_us": tuple(r[1] for r in rows)}
    )
    seen = [arrival(requests), arrival(requests, from_s=5.0)]
    assert said(judge(observed(disk(160, **FULL), seen, expect=""))) == (VerdictKind.LAYER, "disk", Cause.SLOW_MEMBER)


def test_reads_and_writes_that_take_different_times_are_no_slow_member() -> None:
    plain = queue(16, 4, lambda n, s: 2432 if n % 3 else 24000)
    slow = tuple(t > 20000 for t in plain.took_us)
    found = judge(observed(disk(160, **FULL), [arrival(plain.model_copy(update={"writes": slow}))], expect=""))
    assert found.verdict.cause is not Cause.SLOW_MEMBER


def test_writes_that_took_nothing_at_first_and_wait_later_are_a_full_cache() -> None:
    def mixed(write_us: int, from_s: float) -> object:
        plain = queue(8, 8, lambda n, s: 2400 if n % 3 else write_us)
        writes = tuple(abs(t - write_us) < 5 for t in plain.took_us)
        return arrival(plain.model_copy(update={"writes": writes, "from_s": from_s}), from_s=from_s)

    counters = disk(800, **FULL, WRITES=250.0)
    later = judge(observed(counters, [mixed(90, 0.0), mixed(30000, 7.0)]))  # type: ignore[list-item]
    assert said(later) == (VerdictKind.LAYER, "disk", Cause.WRITE_CACHE_FULL)
    same = judge(observed(counters, [mixed(90, 0.0), mixed(90, 7.0)]))  # type: ignore[list-item]
    assert same.verdict.cause is not Cause.WRITE_CACHE_FULL


def test_a_device_of_another_machine_is_judged_by_its_exporter() -> None:
    away = {name.replace("device=sda", "device=nvme0n1,node=n1"): v for name, v in disk(1640, 15.9, 1.0).items()}
    found = judge(observed(away | wire(), toml=SHARE))
    assert said(found) == (VerdictKind.MEDIUM, "disk", Cause.MEDIUM)
    assert "nvme0n1 of n1" in found.verdict.headline


def test_connections_to_other_ports_of_the_same_nodes_are_a_neighbours() -> None:
    label = {**CARD, "discipline": "tbf", "handle": "1:"}
    full_card = {
        stored_name(qdisc.BACKLOG_BYTES.name, label): 2e5,
        stored_name(qdisc.OVERLIMITS.name, label): 900.0,
        stored_name(net.BYTES.name, {**CARD, "direction": "rx"}): 3.6e7,
    }
    moved = {
        stored_name(tcp.RECEIVED.name, {**TO, "connection": str(n), "port": port}): rate
        for n, (port, rate) in enumerate((("10809", 3.4e6), ("10999", 3.2e7)))
    }
    assert said(over(wire() | full_card | moved, 400, 1.0, 0.7))[1:] == ("share", Cause.NOISY_WIRE)
