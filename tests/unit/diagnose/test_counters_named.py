"""What counters show directly is named before what the shape of the losses suggests, and only where they show it."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import pytest

from strata.diagnose import diagnose
from strata.model.analysis import Analysis, CellSummary
from strata.model.finding import Cause, Diagnosis, VerdictKind

from .known import OVER_NBD, SCENES, demo
from .queueing import Path
from .scenes import demo_stack, simulate

Counters = Callable[[CellSummary], dict[str, float]]
MIB = 1 << 20


@lru_cache
def scene(name: str, seed: int = 3) -> Analysis:
    return SCENES[name].analysis(seed=seed, sd=0.01)


def seen(name: str, counters: Counters, below: Counters = lambda _: {}, seed: int = 3) -> Diagnosis:
    """A scene whose path has these counters, and what it stands on those."""
    analysis = scene(name, seed)
    cells = tuple(
        c.model_copy(update={"counters": c.counters | (counters(c) if c.layer == "path" else below(c))})
        for c in analysis.cells
    )
    return diagnose(SCENES[name].stack, analysis.model_copy(update={"cells": cells}))


def segments(again: float, dropped: float = 0.0) -> Counters:
    """1000 segments a second, so many of them sent again."""
    return lambda _: {
        "tcp_segments{direction=out,node=n1}": 1000.0,
        "tcp_segments{direction=in,node=n1}": 1000.0,
        "tcp_retransmitted_segments{node=n1}": again,
        "qdisc_drops{discipline=tbf,handle=1,interface=eth0,node=n1}": dropped,
    }


def reason(found: Diagnosis, cause: Cause) -> str:
    said = [*found.ruled_out, *(r for f in found.findings for r in f.ruled_out)]
    return next(r.because for r in said if r.cause is cause)


def test_loss_is_named_by_the_segments_that_are_sent_again() -> None:
    found = seen("slow-service", segments(35), segments(0))
    verdict = found.verdict
    assert (verdict.kind, verdict.layer, verdict.cause) == (VerdictKind.LAYER, "path", Cause.WIRE_LOSS)
    said = " ".join(e.statement for e in found.findings[0].evidence)
    assert "3.5 % of the TCP segments are retransmitted" in said and "35 per second, most of them by n1" in said
    assert 0.5 < verdict.confidence < 0.8


@pytest.mark.parametrize(
    ("above", "below", "because"),
    [
        (segments(1), segments(0), "at most 0.10 % of the segments"),
        (segments(35), segments(30), "at most 3.5 % of the segments"),
        (segments(35, dropped=30), segments(0), "own queues drop"),
    ],
)
def test_loss_is_not_named_for_few_for_others_and_for_a_queue_of_the_nodes_own(
    above: Counters, below: Counters, because: str
) -> None:
    found = seen("slow-service", above, below)
    assert found.verdict.cause is Cause.PER_REQUEST_COST
    assert because in reason(found, Cause.WIRE_LOSS)


@pytest.mark.parametrize(("had", "lost"), [(10.0, True), (25.0, False)])
def test_what_the_other_end_had_already_was_overtaken_and_not_lost(had: float, lost: bool) -> None:
    def above(cell: CellSummary) -> dict[str, float]:
        of = "{connection=0,end=client,node=n1,peer=10.0.0.2:10809,port=10809}"
        return segments(35)(cell) | {f"tcp_retransmits{of}": 30.0, f"tcp_duplicates{of}": had}

    found = seen("slow-service", above, segments(0))
    assert (found.verdict.cause is Cause.WIRE_LOSS) is lost
    if not lost:
        assert "83 % of what is retransmitted already: it was overtaken" in reason(found, Cause.WIRE_LOSS)


def test_segments_that_a_full_wire_drops_do_not_make_it_lossy() -> None:
    def only_where_it_is_full(cell: CellSummary) -> dict[str, float]:
        return segments(20 if cell.bytes_per_second.value > 15 * MIB else 0)(cell)

    assert seen("slow-wire", only_where_it_is_full, segments(0)).verdict.cause is Cause.WIRE_BANDWIDTH


@pytest.mark.parametrize(("carried", "certain"), [(1.0, True), (0.7, True), (0.2, False)])
def test_what_is_sent_again_fills_a_wire_too(carried: float, certain: bool) -> None:
    """A workload in which the layer moves little, and its card as much as ever."""

    def above(cell: CellSummary) -> dict[str, float]:
        rate = cell.bytes_per_second.value
        few = rate < 10 * MIB
        queue = "qdisc_backlog_bytes{discipline=tbf,handle=1,interface=eth0,node=n1}"
        wire = {"net_bytes{direction=tx,interface=eth0,node=n1}": 20 * MIB * carried if few else rate}
        return segments(400 if few else 0)(cell) | wire | {queue: 0.0 if few else 90_000.0}

    found = seen("slow-wire", above, segments(0))
    assert (found.verdict.kind is VerdictKind.LAYER and found.verdict.cause is Cause.WIRE_BANDWIDTH) is certain
    assert Cause.WIRE_LOSS not in {f.cause for f in found.findings}


@pytest.mark.parametrize(
    ("had", "waiting", "certain"),
    [(25.0, 0.0, False), (10.0, 0.0, True), (25.0, 90_000.0, True), (None, 0.0, True)],
    ids=["overtaken", "lost", "a-queue-is-seen", "not-counted"],
)
@pytest.mark.parametrize("seed", [3, 5])
def test_a_limit_in_whose_cells_segments_overtake_each_other_may_be_tcps_own(
    had: float | None, waiting: float, certain: bool, seed: int
) -> None:
    def above(cell: CellSummary) -> dict[str, float]:
        if cell.bytes_per_second.value < 15 * MIB:
            return segments(0)(cell)
        of = "{connection=0,end=client,node=n1,peer=10.0.0.2:10809,port=10809}"
        queue = "{discipline=tbf,handle=1,interface=eth0,node=n1}"
        return segments(5)(cell) | {
            f"tcp_retransmits{of}": 30.0,
            **({} if had is None else {f"tcp_duplicates{of}": had}),
            "net_bytes{direction=tx,interface=eth0,node=n1}": cell.bytes_per_second.value,
            f"qdisc_backlog_bytes{queue}": waiting,
        }

    found = seen("slow-wire", above, segments(0), seed)
    sure = (found.verdict.kind, found.verdict.cause) == (VerdictKind.LAYER, Cause.WIRE_BANDWIDTH)
    assert sure is certain, found.verdict.headline
    if not certain:
        assert "segments overtake each other: 0.50 % are sent again" in reason(found, Cause.WIRE_BANDWIDTH)


def window(closed: float, end: str = "server", writes: float = 0.0) -> Counters:
    """One connection; its receiver's window is closed for so much of the time."""
    labels = f"connection=0,end={end},node=n1,peer=10.0.0.2:*,port=10809"

    def counters(cell: CellSummary) -> dict[str, float]:
        share = writes if cell.workload.rw.writes else closed
        return {
            f"tcp_rtt_seconds{{{labels}}}": 1e-4,
            f"tcp_min_rtt_seconds{{{labels}}}": 1e-5,
            f"tcp_receiver_limited_seconds{{{labels}}}": share,
        }

    return counters


def reads_only(counters: Counters) -> Diagnosis:
    """A path that is slow for reads, which were all that was measured."""
    whole = scene("slow-wire")
    keys = {c.workload.key for c in whole.cells if not c.workload.rw.writes}
    cells = [c for c in whole.cells if c.workload.key in keys]
    made = [c.model_copy(update={"counters": c.counters | counters(c)}) if c.layer == "path" else c for c in cells]
    compared = tuple(c for c in whole.comparisons if c.workload_key in keys)
    return diagnose(SCENES["slow-wire"].stack, whole.model_copy(update={"cells": tuple(made), "comparisons": compared}))


def test_a_window_that_is_closed_is_named_before_the_shape_of_a_full_wire() -> None:
    found = reads_only(window(0.45))
    assert (found.verdict.layer, found.verdict.cause) == ("path", Cause.SMALL_WINDOW), found.verdict.headline
    assert "closed for 45 % of the time" in found.verdict.headline and "tcp_rmem" in found.verdict.next_step
    tried = found.findings[0].experiment
    assert tried is not None and tried.changes == "the same number of requests over 2 queues"
    assert {p.cause: p.low > 1 for p in tried.predictions}[Cause.SMALL_WINDOW.value]


@pytest.mark.parametrize(
    ("counters", "because"),
    [
        (window(0.1), "closed for at most 10 %"),
        (window(0.0, end="server"), "closed for at most 0 %"),
    ],
)
def test_a_window_that_is_open_is_not(counters: Counters, because: str) -> None:
    found = reads_only(counters)
    assert found.verdict.cause is not Cause.SMALL_WINDOW
    assert because in reason(found, Cause.SMALL_WINDOW)


@pytest.mark.parametrize("counters", [window(0.0, writes=0.9), window(0.9, end="client")])
def test_a_server_that_takes_its_time_or_whose_end_was_not_read_has_no_small_window(counters: Counters) -> None:
    assert seen("slow-wire", counters).verdict.cause is Cause.WIRE_BANDWIDTH


def test_a_window_that_is_closed_below_as_well_is_not_this_layers() -> None:
    found = seen("slow-wire", window(0.5), window(0.4))
    assert found.verdict.cause is Cause.WIRE_BANDWIDTH


def group(share: float, node: str | None = "n1") -> Counters:
    """A group that was held back in so large a share of its periods, and a server of that node."""
    labels = "cgroup=/slice" + (f",node={node},process=smbd" if node else "")
    return lambda _: {
        f"cgroup_periods{{{labels}}}": 100.0,
        f"cgroup_throttled_periods{{{labels}}}": 100.0 * share,
    }


def test_a_servers_quota_is_named() -> None:
    found = seen("one-at-a-time", group(0.97), group(0.0))
    assert (found.verdict.layer, found.verdict.cause) == ("path", Cause.QUOTA)
    assert "smbd on n1" in found.verdict.headline and "97 %" in found.verdict.explanation
    assert found.findings[0].experiment is not None


@pytest.mark.parametrize(("above", "below"), [(0.3, 0.0), (0.97, 0.9)])
def test_a_quota_that_is_not_used_up_or_below_as_well_is_not(above: float, below: float) -> None:
    found = seen("one-at-a-time", group(above), group(below))
    assert found.verdict.cause is Cause.PER_REQUEST_COST
    assert "quota of smbd on n1" in reason(found, Cause.QUOTA)


@pytest.mark.parametrize("name", ["slow-service", "healthy"])
def test_our_own_quota_makes_the_generator_the_limit(name: str) -> None:
    found = seen(name, group(0.9, None), group(0.9, None))
    assert (found.verdict.kind, found.verdict.cause) == (VerdictKind.GENERATOR, Cause.GENERATOR)
    assert "/slice" in found.verdict.explanation and "90 %" in found.verdict.explanation
    assert "quota" in found.verdict.next_step


def test_our_own_quota_that_is_hardly_used_says_nothing() -> None:
    assert seen("slow-service", group(0.1, None), group(0.1, None)).verdict.cause is Cause.PER_REQUEST_COST


def cards(waiting: float, second: float | None) -> Counters:
    """eth1 of n1 carries what the application moves, so much waits in front of it; eth0 carries ``second``."""

    def made(cell: CellSummary) -> dict[str, float]:
        moved = cell.bytes_per_second.value
        found = {
            "net_bytes{direction=tx,interface=eth1,node=n1}": moved,
            "net_bytes{direction=rx,interface=eth1,node=n1}": 1000.0,
            "net_bytes{direction=tx,interface=lo,node=n1}": 9e9,
            "net_bytes{direction=tx,interface=ifb0}": 9e9,
            "qdisc_backlog_bytes{discipline=tbf,handle=1,interface=eth1,node=n1}": waiting,
        }
        return found if second is None else found | {"net_bytes{direction=tx,interface=eth0,node=n1}": second}

    return made


def test_the_card_that_is_met_is_named_with_the_one_that_is_idle() -> None:
    found = seen("slow-wire", cards(18_800, 0.0))
    assert found.verdict.cause is Cause.WRONG_CARD
    assert "all traffic uses eth1 of n1, and eth0 is idle" in found.verdict.headline
    said = " ".join(e.statement for e in found.findings[0].evidence)
    assert "eth1 of n1 carries" in said and "18.4 KiB queue in front of it" in said and "eth0 carries nothing" in said
    assert "not eth0" in found.verdict.next_step


@pytest.mark.parametrize(("waiting", "second"), [(0.0, None), (0.0, 5e6)])
def test_cards_that_show_nothing_add_nothing(waiting: float, second: float | None) -> None:
    plain, found = seen("slow-wire", lambda _: {}), seen("slow-wire", cards(waiting, second))
    assert found.verdict == plain.verdict


def test_a_queue_in_front_of_the_card_is_believed_where_no_shape_fits() -> None:
    two = demo("path", Cause.WIRE_BANDWIDTH, wire=8 * MIB, reorder=6.0)
    analysis = two.analysis(seed=3, sd=0.01)

    def found(counters: Counters) -> Diagnosis:
        cells = tuple(
            c.model_copy(update={"counters": c.counters | counters(c)}) if c.layer == "path" else c
            for c in analysis.cells
        )
        return diagnose(two.stack, analysis.model_copy(update={"cells": cells}))

    def queue(cell: CellSummary) -> dict[str, float]:
        return cards(30_000 if cell.bytes_per_second.value > 6 * MIB else 0.0, None)(cell)

    assert found(lambda _: {}).verdict.cause is not Cause.WIRE_BANDWIDTH
    shown = found(queue)
    assert shown.verdict.cause is Cause.WIRE_BANDWIDTH and "eth1 of n1 is limited to" in shown.verdict.headline
    assert found(cards(0.0, None)).verdict.cause is not Cause.WIRE_BANDWIDTH, "a card without a queue is not met"


@pytest.mark.parametrize(("cap", "capped"), [(1300.0, True), (1000.0, False), (0.0, False)])
def test_a_cap_at_the_lowest_layer_is_told_from_a_medium_of_many_servers(cap: float, capped: bool) -> None:
    """A cap of 1000 is as well a queue of two that take 2 ms each: without a specification it is not called a cap."""
    paths = {"direct": Path(cap=cap), "path": Path(cap=cap, base=OVER_NBD)}
    verdict = diagnose(demo_stack(), simulate(demo_stack(), paths, seed=3, sd=0.01)).verdict
    assert verdict.kind is VerdictKind.MEDIUM
    assert ("capped" in verdict.headline, "consistent with a cap of" in verdict.explanation) == (capped, capped)


def test_what_was_not_counted_is_not_known() -> None:
    cell = scene("healthy").cells[0]
    assert (cell.resources.resent, cell.resources.quotas, cell.resources.cards) == (None, (), ())
    few = cell.model_copy(update={"counters": {"tcp_segments{direction=out}": 3.0, "tcp_retransmitted_segments": 1.0}})
    assert few.resources.resent is None
