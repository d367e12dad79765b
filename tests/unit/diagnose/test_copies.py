"""Who has the data and how many copies there are, solved from the bytes on each node's wire."""

from __future__ import annotations

from functools import lru_cache

import pytest

from strata.diagnose import crossing, diagnose
from strata.model.analysis import Analysis, CellSummary
from strata.model.finding import Cause, Diagnosis
from strata.model.stack import Layer, Node, Stack

from .queueing import Path
from .scenes import simulate

MIB = 1 << 20
URI = "nbd://10.0.0.1:10820/volume"


def stack(elsewhere: str = "n3", below: str = URI) -> Stack:
    """The volume on its owner n1, and reached from another node."""
    return Stack(
        name="mirrored",
        nodes=tuple(Node(name=n) for n in ("n1", "n2", "n3")),
        layers=(
            Layer(name="owner", node="n1", endpoint=below),
            Layer(name="other", node=elsewhere, endpoint=URI, on=("owner",)),
        ),
    )


@lru_cache
def measured(copies_held: bool = False, *, narrow: bool = True) -> Analysis:
    """The way to the owner carries 14 MiB/s; or its copies do."""
    owner = Path(base=20e-6, wire=14 * MIB, wire_writes_only=True) if copies_held else Path(base=20e-6)
    other = Path(base=95e-6, wire=14 * MIB if narrow and not copies_held else 0.0)
    if copies_held:
        other = Path(base=60e-6, wire=14 * MIB, wire_writes_only=True)
    return simulate(stack(), {"owner": owner, "other": other}, seed=3, sd=0.01)


def wires(cell: CellSummary, sent: dict[str, float], received: dict[str, float], queue: float) -> CellSummary:
    """With these bytes per byte of the application, and ``queue`` bytes in front of n1's card."""
    rate = cell.bytes_per_second.value
    found = {f"net_bytes{{direction=tx,interface=eth0,node={n}}}": b * rate for n, b in sent.items()}
    found |= {f"net_bytes{{direction=rx,interface=eth0,node={n}}}": b * rate for n, b in received.items()}
    found["qdisc_backlog_bytes{discipline=tbf,handle=1,interface=eth0,node=n1}"] = queue
    return cell.model_copy(update={"counters": cell.counters | found})


def with_bytes(analysis: Analysis, copies: int, queue: float, extra: float = 1.0) -> Analysis:
    """Reads 0 on the owner and 1 elsewhere, writes r and 1 + r."""

    def of(cell: CellSummary) -> CellSummary:
        far = extra if cell.layer == "other" else 0.0
        if cell.workload.rw.writes:
            sent = {"n1": float(copies), "n3": far}
            return wires(cell, sent, {"n1": far, "n2": float(copies)}, queue)
        return wires(cell, {"n1": far, "n3": 0.01}, {"n3": far, "n1": 0.01}, 0.0)

    return analysis.model_copy(update={"cells": tuple(of(c) for c in analysis.cells)})


def judged(analysis: Analysis, of: Stack | None = None) -> Diagnosis:
    return diagnose(of or stack(), analysis)


@pytest.mark.parametrize("copies", [1, 2])
def test_copies_and_owner_are_solved_from_the_bytes(copies: int) -> None:
    cells = with_bytes(measured(), copies, 0.0).cells
    here = crossing.reads(c for c in cells if c.layer == "other")
    there = crossing.writes(c for c in cells if c.layer == "owner")
    both = crossing.writes(c for c in cells if c.layer == "other")
    assert here is not None and there is not None and both is not None
    assert (here.sources, here.relays, round(here.times)) == (("n1",), (), 1)
    assert (round(there.times), round(both.times)) == (copies, 1 + copies)


def test_a_node_without_a_copy_is_told_to_move_to_the_owner_not_that_its_wire_is_slow() -> None:
    verdict = judged(with_bytes(measured(), 1, 50_000)).verdict
    assert (verdict.layer, verdict.cause) == ("other", Cause.REDIRECTED)
    assert "n3 has no direct path to the data: its requests go through n1" in verdict.headline
    assert "Move the workload from n3 to n1" in verdict.next_step


def test_without_the_cards_bytes_it_is_only_a_wire() -> None:
    assert judged(measured()).verdict.cause is Cause.WIRE_BANDWIDTH


def test_a_share_of_a_local_file_is_meant_to_be_remote() -> None:
    plain = stack(below="file:/srv/strata.dat")
    assert judged(with_bytes(measured(), 1, 50_000), plain).verdict.cause is Cause.WIRE_BANDWIDTH


def test_a_node_that_only_passes_it_on_is_redirected() -> None:
    """A share on n2 that should reach the disk itself gets every byte from n1."""
    analysis = measured()

    def of(cell: CellSummary) -> CellSummary:
        if cell.layer == "owner":
            return wires(cell, {"n1": 0.0}, {"n1": 0.0}, 0.0)
        return wires(cell, {"n1": 1.0, "n2": 1.0}, {"n2": 1.0, "n3": 1.0}, 50_000)

    plain = stack(below="file:/srv/strata.dat")
    verdict = judged(analysis.model_copy(update={"cells": tuple(map(of, analysis.cells))}), plain).verdict
    assert (verdict.layer, verdict.cause) == ("other", Cause.REDIRECTED)
    assert "n2 has no direct path to the data" in verdict.headline and "through n1" in verdict.headline


def test_copies_that_fill_the_owners_card_are_blamed_at_the_lowest_layer() -> None:
    found = judged(with_bytes(measured(copies_held=True), 2, 50_000, extra=0.0))
    assert (found.verdict.layer, found.verdict.cause) == ("owner", Cause.MIRROR_COPIES)
    assert "2 other nodes" in found.verdict.headline and "3 copies" in found.verdict.explanation
    rows = found.findings[0].rows
    assert rows and all(r.share > 0.5 for r in rows)


@pytest.mark.parametrize(("copies", "queue"), [(2, 0.0), (0, 50_000.0)])
def test_copies_over_a_card_with_room_and_none_at_all_are_not_blamed(copies: int, queue: float) -> None:
    found = judged(with_bytes(measured(copies_held=True), copies, queue, extra=0.0))
    assert all(f.cause is not Cause.MIRROR_COPIES for f in found.findings)
