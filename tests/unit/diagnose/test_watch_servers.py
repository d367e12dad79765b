"""The servers of a watched load: those that wait for a CPU, and those that serve fewer at once than are outstanding."""

from __future__ import annotations

import random
from collections.abc import Mapping

import pytest

from strata.diagnose.watch.verdict import Judged, judge
from strata.model.counters import cpu, servers, target
from strata.model.counters.readings import stored_name
from strata.model.finding import Cause, VerdictKind
from strata.model.watch import APPLICATION, DeclaredLoad, Observed
from tests.unit.diagnose.watched import SHARE, SPEC, TO, arrival, disk, issuer, observed, queue, said, wire

NBD = {"process": "nbd", "node": "n1"}
SURE = 0.8


def cpus(busy_of_one: float) -> dict[str, float]:
    """Two CPUs, of which one is half busy."""
    return {
        stored_name(cpu.SECONDS.name, {"cpu": name, "mode": mode}): share
        for name, busy in (("0", 0.5), ("1", busy_of_one))
        for mode, share in (("user", busy), ("idle", 1 - busy))
    }


def ready(waiting: float, cores: float = 0.09, busiest_cpu: float = 1.0) -> dict[str, float]:
    """So many of the server's threads wait for a CPU."""
    return wire(rtt_s=1e-5) | cpus(busiest_cpu) | {
        stored_name(servers.RUN_DELAY.name, NBD): waiting,
        stored_name(servers.CPU_SECONDS.name, {**NBD, "mode": "user"}): cores,
        stored_name(servers.BUSIEST_THREAD.name, NBD): min(1.0, cores),
    }  # fmt: skip


def over(
    counters: dict[str, float], iops: float, in_flight: float, busy: float, outstanding: int | None = 12
) -> Judged:
    return judge(asking(observed(disk(iops, in_flight, busy) | counters, toml=SHARE), outstanding))


def asking(seen: Observed, outstanding: int | None) -> Observed:
    """A command that keeps so many outstanding."""
    assert seen.ran is not None
    asked = None if outstanding is None else DeclaredLoad(outstanding=outstanding)
    return seen.model_copy(update={"ran": seen.ran.model_copy(update={"asked": asked})})


def test_a_server_whose_cpu_others_use_is_named_by_what_its_threads_wait() -> None:
    found = over(ready(8.3), 1700, 1.0, 0.05)
    assert said(found) == (VerdictKind.LAYER, "share", Cause.PROCESSORS)
    assert found.verdict.confidence >= SURE
    assert "others have the rest" in found.verdict.explanation
    # Also where nobody says how many are outstanding.
    assert said(over(ready(8.3), 1700, 1.0, 0.05, outstanding=None))[1:] == ("share", Cause.PROCESSORS)


def test_a_server_that_uses_its_cpus_up_itself_is_not_told_to_share_them() -> None:
    found = over(ready(3.0, cores=1.5) | {stored_name(servers.BUSIEST_THREAD.name, NBD): 0.4}, 1700, 1.0, 0.05)
    assert said(found)[1:] == ("share", Cause.PROCESSORS)
    assert "others" not in found.verdict.explanation


@pytest.mark.parametrize(("waiting", "in_flight"), [(0.2, 0.1), (3.0, 15.5), (0.9, 1.1)])
def test_waits_for_a_cpu_that_are_less_than_those_at_the_device_are_no_limit(waiting: float, in_flight: float) -> None:
    found = over(ready(waiting), 1600, in_flight, 0.9)
    assert Cause.PROCESSORS not in {f.cause for f in found.findings}


def test_waits_for_a_cpu_are_named_beside_a_device_for_which_nobody_waits() -> None:
    found = over(ready(1.8), 860, 3.3, 0.51, outstanding=8)
    assert said(found)[1:] == ("share", Cause.PROCESSORS)
    assert found.verdict.confidence == 0.6
    # A device that is never idle may be what they wait for; a load that keeps little of what it may pauses.
    for busy, outstanding, cpu_busy in ((0.9, 8, 1.0), (0.51, 32, 1.0), (0.51, None, 1.0), (0.51, 8, 0.6)):
        found = over(ready(1.8, busiest_cpu=cpu_busy), 860, 3.3, busy, outstanding)
        assert Cause.PROCESSORS not in {f.cause for f in found.findings}


def test_waits_for_a_cpu_are_less_sure_where_no_cpu_is_full() -> None:
    assert over(ready(8.3, busiest_cpu=0.6), 1700, 1.0, 0.05).verdict.confidence < SURE
    unseen = {name: v for name, v in ready(8.3).items() if "cpu_seconds{cpu" not in name}
    assert over(unseen, 1700, 1.0, 0.05).verdict.confidence < SURE


def few(
    threads: int,
    outstanding: int | None = 16,
    more: Mapping[str, float] | None = None,
    *,
    service_us: int = 2432,
    expect: str = SPEC,
) -> Observed:
    """A server of so many threads before a device that serves four at once."""
    requests = queue(threads, 4, lambda n, s: service_us + 7 * (n % 5))
    depths = tuple((n, 100 if n < threads else 500) for n in range(1, threads + 1))
    iops = min(threads, 4) * 1e6 / service_us
    traced = [arrival(requests, depths=depths), arrival(requests, depths=depths, from_s=7.5)]
    counters = disk(iops, 0.97 * threads, 0.98) | wire(rtt_s=1e-5) | dict(more or {})
    return asking(observed(counters, traced, expect=expect, toml=SHARE), outstanding)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_a_server_of_few_threads_is_named_by_what_waits_in_front_of_it(threads: int) -> None:
    found = judge(few(threads))
    assert said(found) == (VerdictKind.LAYER, "share", Cause.LIMITED_QUEUE)
    assert found.verdict.confidence >= SURE
    assert ("one request at once" if threads == 1 else f"{threads} requests at once") in found.verdict.headline


def test_where_the_server_tells_its_own_times_the_command_need_not_say_how_many_it_keeps() -> None:
    told = {stored_name(target.SECONDS.name, {"direction": "read", "node": "n1"}): 15.8}
    for threads in (1, 3):
        found = judge(few(threads, None, told))
        assert said(found)[1:] == ("share", Cause.LIMITED_QUEUE)
    # One request at a time is the application's, whoever says it.
    alone = {stored_name(target.SECONDS.name, {"direction": "read", "node": "n1"}): 1.02}
    assert said(judge(few(1, None, alone))) == (VerdictKind.APPLICATION, APPLICATION, Cause.GENERATOR)


@pytest.mark.parametrize("outstanding", [3, None])
def test_a_load_that_keeps_no_more_outstanding_is_held_by_no_server(outstanding: int | None) -> None:
    """Or nobody knows whether it does."""
    assert Cause.LIMITED_QUEUE not in {f.cause for f in judge(few(3, outstanding)).findings}


def test_a_device_whose_requests_wait_there_limits_itself() -> None:
    """As many as the server has are more than the device serves at once, or each takes too long."""
    for seen in (few(8), few(3, service_us=9600)):
        assert ("share", Cause.LIMITED_QUEUE) not in {(f.layer, f.cause) for f in judge(seen).findings}


def test_a_load_that_pauses_between_its_requests_is_held_by_no_server() -> None:
    """A rate of its own keeps one at the device most of the time, of the eight that it may have at the most."""
    counted = {name: (value,) * 20 for name, value in disk(370, 0.9, 0.9).items()}
    seen = few(1, 8)
    paced = seen.model_copy(
        update={"rates": {**seen.rates, **counted}, "issuers": (issuer(storage=4, sleeping=96, running=0),)}
    )
    assert said(judge(paced))[:2] == (VerdictKind.APPLICATION, APPLICATION)
    # By the server's own times the others wait there: then who sleeps waits for it.
    told = {stored_name(target.SECONDS.name, {"direction": "read", "node": "n1"}): (5.3,) * 20}
    waits = paced.model_copy(update={"rates": {**paced.rates, **told}})
    assert said(judge(waits)) == (VerdictKind.LAYER, "share", Cause.LIMITED_QUEUE)


@pytest.mark.parametrize(
    ("depths", "in_flight"),
    [
        # Now and then there were more.
        ([((1, 100), (2, 100), (3, 500), (4, 20)), ((1, 100), (2, 100), (3, 500))], 2.9),
        # As many as that are there now and then, or at the beginning alone.
        ([((1, 400), (2, 200), (3, 20))] * 2, 1.4),
        ([((1, 100), (2, 100), (3, 500))] * 2, 1.4),
        # Too few to tell.
        ([((1, 2), (2, 3), (3, 9))] * 2, 2.9),
    ],
)
def test_depths_that_vary_are_no_limit(depths: list[tuple[tuple[int, int], ...]], in_flight: float) -> None:
    seen = few(3)
    traced = tuple(a.model_copy(update={"depths": d}) for a, d in zip(seen.arrivals, depths, strict=True))
    counted = {name: (value,) * 20 for name, value in disk(1200, in_flight, 0.95).items()}
    less = seen.model_copy(update={"arrivals": traced, "rates": {**seen.rates, **counted}})
    assert ("share", Cause.LIMITED_QUEUE) not in {(f.layer, f.cause) for f in judge(less).findings}


def test_a_journals_own_request_beside_those_of_the_server_is_none_of_its_threads() -> None:
    seen = few(1)
    stray = ((1, 212), (2, 1))
    traced = tuple(a.model_copy(update={"depths": stray}) for a in seen.arrivals)
    assert said(judge(seen.model_copy(update={"arrivals": traced})))[1:] == ("share", Cause.LIMITED_QUEUE)


def test_one_thread_before_a_device_that_is_a_little_slow_is_the_larger_part() -> None:
    found = judge(few(1, service_us=3600))
    assert said(found)[1:] == ("share", Cause.LIMITED_QUEUE)
    assert found.verdict.confidence < SURE


def test_what_is_on_the_wire_does_not_wait_in_front_of_the_server() -> None:
    far = {stored_name("tcp_min_rtt_seconds", TO): 0.01, stored_name("tcp_rtt_seconds", TO): 0.01}
    assert Cause.LIMITED_QUEUE not in {f.cause for f in judge(few(3, 16, far)).findings if f.layer == "share"}


def test_without_a_specification_it_is_not_certain_that_the_device_has_room() -> None:
    found = judge(few(3, expect=""))
    assert said(found)[1:] == ("share", Cause.LIMITED_QUEUE)
    assert found.verdict.confidence < SURE
    assert any("serves more at once" in one for one in found.verdict.missing)


def test_counters_taken_away_leave_no_confident_error() -> None:
    chance = random.Random(11)
    busy = asking(observed(disk(1700, 1.0, 0.05) | ready(8.3), toml=SHARE), 12)
    for seen in (busy, few(1), few(3)):
        for _ in range(60):
            kept = {name: v for name, v in seen.rates.items() if chance.random() < 0.6}
            less = seen.model_copy(
                update={
                    "rates": kept,
                    "arrivals": seen.arrivals if chance.random() < 0.6 else (),
                    "ran": seen.ran if chance.random() < 0.6 else None,
                }
            )
            verdict = judge(less).verdict
            assert verdict.confidence < SURE or verdict.layer == "share", verdict


def test_the_two_are_not_taken_for_each_other() -> None:
    """Few threads whose server also waits for a CPU now and then, and a busy CPU behind which few are at the device."""
    noisy = {name: value for name, value in ready(0.4, busiest_cpu=0.7).items() if name not in wire()}
    assert said(judge(few(3, 16, noisy)))[2] is Cause.LIMITED_QUEUE
    depths = ((1, 500), (2, 300), (3, 200), (4, 90), (5, 20))
    seen = asking(
        observed(
            disk(1700, 1.0, 0.05) | ready(8.3), [arrival(queue(2, 4, lambda n, s: 300), depths=depths)], toml=SHARE
        ),
        12,
    )
    assert said(judge(seen))[2] is Cause.PROCESSORS


def own_times(outstanding: float) -> dict[str, float]:
    """The server says that it has so many, mean."""
    return {stored_name(target.SECONDS.name, {"direction": "read", "node": "n1"}): outstanding}


@pytest.mark.parametrize("threads", [1, 2])
def test_a_server_that_reads_no_more_than_it_serves_has_the_others_in_no_time_of_its_own(threads: int) -> None:
    """As one thread was seen: 92 % of the time at the device, the rest of it with the answer."""
    seen = few(threads, 8, own_times(threads + 0.1))
    counted = {name: (value,) * 20 for name, value in disk(285 * threads, 0.92 * threads, 0.93).items()}
    found = judge(seen.model_copy(update={"rates": {**seen.rates, **counted}}))
    assert said(found) == (VerdictKind.LAYER, "share", Cause.LIMITED_QUEUE)
    # That they are outstanding is what the command keeps at the most.
    assert found.verdict.confidence < SURE
    # A server that has nothing now and then waits for the load.
    idle = seen.model_copy(update={"rates": {**seen.rates, **counted, **_twenty(own_times(0.93 * threads))}})
    assert Cause.LIMITED_QUEUE not in {f.cause for f in judge(idle).findings if f.layer == "share"}


def _twenty(counters: Mapping[str, float]) -> dict[str, tuple[float, ...]]:
    return {name: (value,) * 20 for name, value in counters.items()}


def costly(
    held: float = 6.2,
    at_device: float = 1.5,
    outstanding: int | None = 8,
    *,
    waiting: float = 0.1,
    expect: str = SPEC,
    more: Mapping[str, float] | None = None,
) -> Observed:
    """A server that has requests itself, beside those at a device on which none waits for another: eight come round
    after each other.
    """
    iops, n = at_device / 2432e-6, round(held + at_device)
    around, chance = round(n / iops * 1e6), random.Random(7)
    begins = sorted(chance.randrange(around) for _ in range(n))
    requests = queue(1, 1, lambda k, s: 1, count=50 * n).model_copy(
        update={
            "issued_us": tuple(around * turn + at for turn in range(50) for at in begins),
            "took_us": (2432,) * 50 * n,
        }
    )
    depths = ((1, 300), (2, 250), (3, 150), (4, 100))
    counters = disk(iops, at_device, min(0.9, at_device / 2)) | ready(waiting) | own_times(held + at_device)
    traced = [arrival(requests, depths=depths)]
    return asking(observed(counters | dict(more or {}), traced, expect=expect, toml=SHARE), outstanding)


@pytest.mark.parametrize("outstanding", [8, None])
def test_a_server_that_takes_long_for_each_request_itself_is_named_by_its_own_times(outstanding: int | None) -> None:
    found = judge(costly(outstanding=outstanding))
    assert said(found) == (VerdictKind.LAYER, "share", Cause.PER_REQUEST_COST)
    assert found.verdict.confidence >= SURE
    assert "9.89 ms" in found.verdict.headline
    # Without a specification it is not known that none waits at the device.
    unknown = costly(outstanding=outstanding, expect="")
    met = unknown.model_copy(update={"arrivals": ()})
    assert said(judge(met))[1:] == ("share", Cause.PER_REQUEST_COST)
    assert judge(met).verdict.confidence < SURE


def test_one_request_at_a_time_that_the_server_has_most_of_the_time_is_no_pause_of_the_application() -> None:
    """Nothing is at the device or on the wire for 80 % of the time."""
    seen = costly(held=0.79, at_device=0.2, outstanding=1)
    asleep = seen.model_copy(update={"issuers": (issuer(storage=50, sleeping=50, running=0),)})
    for one in (seen, asleep):
        assert said(judge(one)) == (VerdictKind.LAYER, "share", Cause.PER_REQUEST_COST)


@pytest.mark.parametrize(
    ("held", "at_device", "waiting", "more"),
    [
        # The device has most of them; they wait for a CPU; the server moves what the device does not have.
        (2.0, 6.0, 0.1, {}),
        (5.0, 1.5, 4.8, {}),
        (6.2, 1.5, 0.1, {stored_name(target.BYTES.name, {"direction": "read", "node": "n1"}): 1e8}),
    ],
)
def test_a_server_is_not_named_for_what_is_elsewhere(
    held: float, at_device: float, waiting: float, more: dict[str, float]
) -> None:
    found = judge(costly(held, at_device, waiting=waiting, more=more))
    assert Cause.PER_REQUEST_COST not in {f.cause for f in found.findings}


def test_writes_that_a_servers_memory_may_hold_are_not_its_cost_for_certain() -> None:
    seen = costly()
    full = {name: (value,) * 20 for name, value in disk(617, 1.5, 0.95, READS=0.0, WRITES=617.0).items()}
    found = judge(seen.model_copy(update={"rates": {**seen.rates, **full}}))
    assert said(found)[0] is VerdictKind.INCONCLUSIVE
