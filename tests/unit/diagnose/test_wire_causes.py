"""A wire is named by what its connections and cards show, and not by what only looks like one."""

from __future__ import annotations

import pytest

from strata.diagnose import diagnose, propose
from strata.model.analysis import Analysis, CellSummary
from strata.model.experiment import Tried
from strata.model.finding import Cause, Diagnosis, VerdictKind

from .known import MIB, SCENES, TWO, demo
from .test_counters_named import Counters, cards, reason, scene, seen
from .test_experiment import carry_out


def connection(least: float, usual: float | None = None, *, share: float = 1.0) -> Counters:
    """One connection to port 10809 with these round trips in seconds, that moves a share of the layer's bytes."""

    def made(cell: CellSummary) -> dict[str, float]:
        labels = "{connection=0,end=client,node=n2,peer=10.0.0.1:10809,port=10809}"
        return {
            f"tcp_min_rtt_seconds{labels}": least,
            f"tcp_rtt_seconds{labels}": usual or least,
            f"tcp_received_bytes{labels}": share * cell.bytes_per_second.value,
        }

    return made


def both(*made: Counters) -> Counters:
    return lambda cell: {k: v for one in made for k, v in one(cell).items()}


def test_latency_is_shown_by_the_connections_own_round_trip_with_a_prediction_for_each_slow_workload() -> None:
    found = seen("far-wire", connection(5.05e-3, 6.5e-3), connection(50e-6))
    assert (found.verdict.layer, found.verdict.cause) == ("path", Cause.WIRE_LATENCY)
    rows = found.findings[0].rows
    assert rows and all(r.low * 0.8 <= r.measured <= r.high * 1.2 and r.share > 0.5 for r in rows)
    assert found.findings[0].left == ()


def test_a_round_trip_that_makes_two_thirds_of_the_loss_is_enough() -> None:
    """CPUs of both ends add to it: no constant time fits, and the round trip is seen all the same."""
    part, whole = (seen("far-wire", connection(*trips), connection(0.0)) for trips in ((3.3e-3, 4e-3), (5e-3, 6e-3)))
    assert part.verdict.cause is whole.verdict.cause is Cause.WIRE_LATENCY
    assert 0.5 < part.verdict.confidence < whole.verdict.confidence


@pytest.mark.parametrize("least", [10e-6, 0.3e-3])
def test_a_short_round_trip_is_no_latency(least: float) -> None:
    found = seen("slow-service", connection(least), connection(10e-6))
    assert found.verdict.cause is Cause.PER_REQUEST_COST
    assert "minimum round trip" in reason(found, Cause.WIRE_LATENCY)


def test_requests_that_do_not_wait_for_the_round_trip_rule_it_out() -> None:
    found = seen("slow-wire", connection(20e-3), connection(50e-6))
    assert found.verdict.cause is Cause.WIRE_BANDWIDTH
    assert "requests do not wait for it" in reason(found, Cause.WIRE_LATENCY)


def test_a_connection_that_carries_other_bytes_is_not_asked() -> None:
    found = seen("slow-service", connection(3e-3, share=0.01), connection(10e-6))
    assert found.verdict.cause is Cause.PER_REQUEST_COST


def carried(rate: float, waiting: float, own: float = 0.0) -> Counters:
    """eth0 of n1 sends so many bytes a second, and ``own`` for each byte of the layer."""
    return lambda cell: {
        "net_bytes{direction=tx,interface=eth0,node=n1}": rate + own * cell.bytes_per_second.value,
        "qdisc_backlog_bytes{discipline=tbf,handle=1,interface=eth0,node=n1}": waiting,
    }


def test_a_card_that_is_used_while_nobody_of_the_path_does_is_a_neighbours() -> None:
    found = seen("slow-wire", carried(100 * MIB, 90_000), carried(90 * MIB, 40_000, own=1.15))
    assert (found.verdict.layer, found.verdict.cause) == ("path", Cause.NOISY_WIRE)
    assert "90 MiB/s" in found.verdict.headline


@pytest.mark.parametrize(("part", "others"), [(0.1, False), (0.35, False), (0.5, True), (1.2, True)])
@pytest.mark.parametrize("writes", [False, True])
def test_traffic_that_comes_and_goes_with_the_layer_below_is_its_own(part: float, others: bool, writes: bool) -> None:
    """A mirror whose copies lie on other nodes: some workloads use the wire, one direction at one depth hardly."""

    def below(cell: CellSummary) -> dict[str, float]:
        rarely = cell.workload.outstanding == 8 and cell.workload.rw.writes is writes and cell.workload.rw.random
        return carried(90 * MIB * (part if rarely else 1.0), 40_000, own=1.15)(cell)

    found = seen("slow-wire", carried(100 * MIB, 90_000), below)
    assert (named(found) is Cause.NOISY_WIRE) is others


@pytest.mark.parametrize(("below", "waiting"), [(1 * MIB, 90_000.0), (90 * MIB, 0.0)])
def test_a_quiet_card_and_one_with_room_are_not(below: float, waiting: float) -> None:
    assert named(seen("slow-wire", carried(100 * MIB, waiting), carried(below, 0.0))) is not Cause.NOISY_WIRE


def test_a_second_card_that_carries_something_is_no_wrong_card() -> None:
    assert seen("slow-wire", cards(18_800, 0.0)).verdict.cause is Cause.WRONG_CARD
    assert seen("slow-wire", cards(18_800, 5e6)).verdict.cause is Cause.WIRE_BANDWIDTH
    # A limit at the far end, with an idle card beside the one that has room.
    assert seen("slow-wire", cards(0.0, 0.0)).verdict.cause is Cause.WIRE_BANDWIDTH


def test_packets_of_writes_wait_at_the_other_end() -> None:
    """A server's card has a queue where it sends: writes are received, and a single small read leaves none."""

    def made(cell: CellSummary) -> dict[str, float]:
        return cards(0.0 if cell.workload.rw.writes or cell.workload.outstanding == 1 else 40_000, 0.0)(cell)

    assert seen("slow-wire", made).verdict.cause is Cause.WRONG_CARD


def test_the_end_whose_queue_is_counted_is_met_also_where_the_other_end_sends_a_little_more() -> None:
    """The client's card tells nothing of its queue, and the largest rate is that of writes, which wait there."""
    eth1 = "direction={},interface=eth1,node=n2"

    def made(cell: CellSummary) -> dict[str, float]:
        moved, writes = cell.bytes_per_second.value, cell.workload.rw.writes
        client = {f"net_bytes{{{eth1.format(way)}}}": 1.1 * moved for way in (["tx"] if writes else ["rx"])}
        return cards(0.0 if writes else 40_000, 0.0)(cell) | client

    def quicker(cell: CellSummary) -> CellSummary:
        faster = 1.02 if cell.layer == "path" and cell.workload.rw.writes else 1.0
        counters = cell.counters | (made(cell) if cell.layer == "path" else {})
        return cell.model_copy(
            update={"iops": cell.iops.model_copy(update={"value": faster * cell.iops.value}), "counters": counters}
        )

    analysis = scene("slow-wire")
    cells = tuple(map(quicker, analysis.cells))
    found = diagnose(SCENES["slow-wire"].stack, analysis.model_copy(update={"cells": cells}))
    assert found.verdict.cause is Cause.WRONG_CARD and "eth1 of n1" in found.verdict.headline


def test_a_second_card_that_carries_the_other_direction_is_not_idle() -> None:
    """Reads leave by eth1, and writes come in by eth0: in the cells of reads alone eth0 looks idle."""

    def made(cell: CellSummary) -> dict[str, float]:
        moved, writes = cell.bytes_per_second.value, cell.workload.rw.writes
        both_ways = cards(0.0 if writes else 40_000, moved if writes else 0.0)(cell)
        return both_ways | ({"net_bytes{direction=tx,interface=eth1,node=n1}": 0.0} if writes else {})

    assert seen("slow-wire", made).verdict.cause is not Cause.WRONG_CARD


@pytest.mark.parametrize("rate", [3, 5])
def test_a_wire_that_lets_bursts_pass_is_named_by_the_queue_before_its_card(rate: int) -> None:
    """What is sent one by one stays below its rate and waits for nothing: no one limit fits every row."""
    two = demo("path", Cause.WIRE_BANDWIDTH, wire=rate * MIB, burst=64 << 10)

    def met(cell: CellSummary) -> CellSummary:
        full = cards(0.0 if cell.workload.outstanding == 1 else 40_000, 5e6)(cell)
        return cell.model_copy(update={"counters": cell.counters | (full if cell.layer == "path" else {})})

    analysis = two.analysis(seed=5, sd=0.02)
    blind = diagnose(two.stack, analysis).verdict
    verdict = diagnose(two.stack, analysis.model_copy(update={"cells": tuple(map(met, analysis.cells))})).verdict
    assert (verdict.layer, verdict.cause) == ("path", Cause.WIRE_BANDWIDTH)
    assert blind.cause in (Cause.WIRE_BANDWIDTH, Cause.UNEXPLAINED, None)


def test_without_any_counter_nothing_is_said_of_the_wire_but_by_the_shape() -> None:
    found = seen("slow-service", lambda _: {})
    assert found.verdict.cause is Cause.PER_REQUEST_COST
    assert scene("slow-service").remotes, "the handshake was probed"


def named(found: Diagnosis) -> Cause:
    return found.verdict.cause


@pytest.mark.parametrize("seed", [3, 4])
@pytest.mark.parametrize("connected", [True, False])
def test_a_far_wire_that_is_slow_too_is_named_for_both(connected: bool, seed: int) -> None:
    two = TWO["far-and-slow-wire"]
    analysis = two.analysis(seed=seed, sd=0.02)
    if connected:
        least = {"direct": 50e-6, "path": 5.05e-3}
        cells = (c.model_copy(update={"counters": connection(least[c.layer])(c)}) for c in analysis.cells)
        analysis = analysis.model_copy(update={"cells": tuple(cells)})
    found = diagnose(two.stack, analysis)
    assert {f.cause for f in found.findings} == {Cause.WIRE_LATENCY, Cause.WIRE_BANDWIDTH}
    assert all(f.confidence > 0.5 and f.rows for f in found.findings)


def test_a_second_cause_that_another_explains_as_well_is_not_said() -> None:
    """Behind the delay a lock and a cap look the same."""
    two = TWO["far-and-one-at-a-time"]
    found = diagnose(two.stack, two.analysis(seed=3, sd=0.02))
    assert found.verdict.cause is Cause.WIRE_LATENCY
    assert all(f.confidence < 0.5 for f in found.findings if f.cause is not Cause.WIRE_LATENCY)


def server(thread: float, waits: float, own: float = 0.0, cores: float = 0.3) -> Counters:
    """A server of n1 with its busiest thread, its threads that wait for a CPU, and those of the generator."""
    return lambda cell: {
        "server_cpu_seconds{mode=user,node=n1,process=nbdkit}": cores,
        "server_busiest_thread{node=n1,process=nbdkit}": thread,
        "server_run_delay_seconds{node=n1,process=nbdkit}": waits * cell.workload.outstanding,
        "process_run_delay_seconds": own * cell.workload.outstanding,
    }


def test_a_thread_that_has_nothing_left_is_named_while_processors_are_idle() -> None:
    found = seen("one-at-a-time", server(0.97, 0.01), server(0.1, 0.0))
    assert (found.verdict.layer, found.verdict.cause) == ("path", Cause.SINGLE_THREAD)
    assert "one thread of nbdkit of n1 does all the work and is 97 % busy" in found.verdict.headline
    assert found.findings[0].rows and found.findings[0].experiment is not None


@pytest.mark.parametrize(("above", "below"), [(0.5, 0.1), (0.97, 0.9)])
def test_a_thread_with_room_and_one_that_is_as_busy_below_are_not(above: float, below: float) -> None:
    assert named(seen("one-at-a-time", server(above, 0.0), server(below, 0.0))) is Cause.PER_REQUEST_COST


def test_a_server_that_waits_for_a_processor_is_named_where_its_group_cannot_be_read() -> None:
    found = seen("slow-service", server(0.06, 0.6), server(0.0, 0.0))
    assert (found.verdict.layer, found.verdict.cause) == ("path", Cause.PROCESSORS)
    assert "nbdkit of n1 waits for a CPU" in found.verdict.headline


def test_a_client_that_waits_for_a_processor_is_named_before_its_servers() -> None:
    found = seen("slow-service", server(0.06, 0.05, own=0.55), server(0.0, 0.0))
    assert named(found) is Cause.CLIENT_PROCESSORS


@pytest.mark.parametrize("waits", [(0.05, 0.0), (0.6, 0.58)])
def test_waits_that_are_short_or_the_same_below_are_no_cause(waits: tuple[float, float]) -> None:
    found = seen("slow-service", server(0.06, waits[0]), server(0.0, waits[1]))
    assert named(found) is Cause.PER_REQUEST_COST


@pytest.mark.parametrize(("waits", "blamed"), [(0.2, False), (0.4, True)])
def test_a_server_beside_a_neighbour_waits_a_little_and_is_not_blamed_for_it(waits: float, blamed: bool) -> None:
    """All that is lost are its waits, and what the layer may cost is no loss."""
    two = demo("path", Cause.PROCESSORS, delay=2e-3 * waits / (1 - waits))
    analysis = two.analysis(seed=3, sd=0.02)
    waited = {"path": server(0.3, waits), "direct": server(0.3, 0.0)}
    cells = (c.model_copy(update={"counters": waited[c.layer](c)}) for c in analysis.cells)
    found = diagnose(two.stack, analysis.model_copy(update={"cells": tuple(cells)}))
    assert (named(found) is Cause.PROCESSORS) is blamed
    assert all(f.cause is not Cause.PROCESSORS for f in found.findings) or blamed


def test_a_wire_that_is_never_quiet_is_no_far_wire() -> None:
    """Somebody fills it, and the cards were not read: even alone a request meets a queue."""
    found = seen("far-wire", connection(5.05e-3, 14e-3), connection(50e-6))
    quiet, blind = seen("far-wire", connection(5.05e-3, 6.5e-3), connection(50e-6)), seen("far-wire", lambda _: {})
    assert found.verdict.confidence <= blind.verdict.confidence < quiet.verdict.confidence
    assert all("minimum round trip of its connections" not in e.statement for f in found.findings for e in f.evidence)


@pytest.mark.parametrize("seed", [3, 4])
@pytest.mark.parametrize("rate", [10, 20])
def test_rows_that_a_constant_time_holds_back_are_not_explained_by_the_rate_of_the_wire(rate: int, seed: int) -> None:
    """The far end adds milliseconds to each request: the wire holds large blocks and deep queues, and no small ones."""
    two = demo("path", Cause.WIRE_BANDWIDTH, wire=rate * MIB, delay=2e-3 if rate == 10 else 3e-3)
    analysis = two.analysis(seed=seed, sd=0.02)
    cells = (c.model_copy(update={"counters": connection(50e-6)(c)}) for c in analysis.cells)
    found = diagnose(two.stack, analysis.model_copy(update={"cells": tuple(cells)})).findings
    (wire,) = (f for f in found if f.cause is Cause.WIRE_BANDWIDTH)
    small = {"path/randread-8KiB-qd1", "path/read-8KiB-qd8", "path/write-8KiB-qd8"}
    assert {r.cell for r in wire.rows} == {"path/read-128KiB-qd8", "path/write-128KiB-qd8", "path/randread-8KiB-qd32"}
    assert all(r.share > 0.7 for r in wire.rows)
    others = {r.cell for f in found if f is not wire for r in f.rows}
    assert small <= others | set(wire.left)
    if rate == 10:
        assert "ms longer, which this limit does not explain" in wire.explanation


@pytest.mark.parametrize(("rate", "delay"), [(10, 2e-3), (20, 2e-3), (20, 5e-3), (30, 3e-3), (30, 5e-3)])
def test_a_delay_beside_a_limit_of_bytes_is_not_refuted_by_what_the_bytes_hold_back(rate: int, delay: float) -> None:
    """Larger blocks pass the slow wire too, and fewer at once may fill it as well: both are so, and both are said."""
    two = demo("path", Cause.WIRE_LATENCY, trip=delay, delay=delay, wire=rate * MIB)
    analysis = two.analysis(seed=3, sd=0.05)
    seen_by = {"path": connection(delay + 50e-6), "direct": connection(50e-6)}
    cells = (c.model_copy(update={"counters": seen_by[c.layer](c)}) for c in analysis.cells)
    analysis = analysis.model_copy(update={"cells": tuple(cells)})
    tried: tuple[Tried, ...] = ()
    while len(tried) < 4 and (experiment := propose(two.stack, analysis, tried)) is not None:
        tried = (*tried, carry_out(two, analysis, experiment, seed=3))
    after = diagnose(two.stack, analysis, tried)
    both = {f"path: {c}" for c in (Cause.WIRE_LATENCY, Cause.WIRE_BANDWIDTH)}
    assert tried and not both & {one for told in after.story for one in told.fell}
    assert after.verdict.cause in (Cause.WIRE_LATENCY, Cause.WIRE_BANDWIDTH)


def test_a_single_workload_shows_no_wire_until_something_else_does() -> None:
    """Whatever slows large writes alone has a rate; seen live of a disk whose writes vary."""
    writes, ways = (demo("path", Cause.WIRE_BANDWIDTH, wire=100 * MIB, wire_writes_only=only) for only in (True, False))
    analysis = writes.analysis(seed=3, sd=0.01)
    verdict = diagnose(writes.stack, analysis).verdict
    assert (verdict.kind, verdict.cause) == (VerdictKind.INCONCLUSIVE, Cause.WIRE_BANDWIDTH)
    assert verdict.explanation.startswith("1 workload stops at 98.6 MiB/s")
    assert "a second workload that stops at the same rate" in verdict.missing
    sure = [
        diagnose(ways.stack, ways.analysis(seed=3, sd=0.01)),
        diagnose(writes.stack, counted(analysis, carried(0.0, 90_000, own=1.05))),
    ]
    experiment = propose(writes.stack, analysis)
    assert experiment is not None
    sure.append(diagnose(writes.stack, analysis, (carry_out(writes, analysis, experiment),)))
    for found in sure:
        assert (found.verdict.kind, found.verdict.cause) == (VerdictKind.LAYER, Cause.WIRE_BANDWIDTH)


def counted(analysis: Analysis, counters: Counters) -> Analysis:
    """The path has these counters."""
    cells = [
        c.model_copy(update={"counters": c.counters | counters(c)}) if c.layer == "path" else c for c in analysis.cells
    ]
    return analysis.model_copy(update={"cells": tuple(cells)})
