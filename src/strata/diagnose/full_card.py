"""The wire's bandwidth, shown by the cards' own queues where the shape of the losses is blurred by something else.

What it claims
    Packets wait in front of an interface in the slow cells: what passes there is all that it lets pass.
Why it matters
    On a machine that others use, or where a second, smaller cost comes on top, no single limit fits every cell; the
    queue in front of the card is seen all the same.
Evidence it needs
    Operational: in slow cells with 60 % of the loss a frame or more waits in front of one card on average, or that card
    carries at least 85 % of the most that it carried with such a queue; the same cells below do not use it.
    Differential: the loss.
What rules it out
    No queue in front of any card; cells that carry less, and have none.
What to do next
    As for a limit that the shape of the losses shows.
How sure
    By the share of the loss in such cells.
Example
    128 KiB reads at 90 and 8 KiB reads at 1 458 IOPS, both 11.9 MB/s over eth0, with 197 and 111 KiB in front of it;
    8 KiB writes are slow too, at 4.2 MB/s, for another reason.
Source
    Denning, Buzen 1978 (the device with the queue is the bottleneck); the kernel's queueing disciplines (tc -s qdisc).
"""

from __future__ import annotations

from dataclasses import replace

from strata import units
from strata.diagnose import card, counted, experiment, observe
from strata.diagnose.case import Pair
from strata.diagnose.models import Shape
from strata.diagnose.opinion import Opinion, Weight
from strata.diagnose.view import Point
from strata.model.analysis import CellSummary
from strata.model.finding import Cause, Evidence, EvidenceKind

CAUSE = Cause.WIRE_BANDWIDTH
LEAST_COVER, AS_FULL, BELOW = 0.6, 0.85, 0.5


def judge_pair(pair: Pair) -> Opinion | None:
    """None where the queues do not show it."""
    view, slow = pair.view, pair.view.affected
    met = card.card_of(slow)
    if met is None or not any(_waits(p, met) for p in slow):
        return None
    top = max(_sent(p.upper, met) for p in slow if _waits(p, met))
    full = [
        p
        for p in slow
        if (_waits(p, met) or _sent(p.upper, met) >= AS_FULL * top) and _sent(p.lower, met) < BELOW * top
    ]
    cover = sum(p.loss for p in full) / sum(p.loss for p in slow)
    if cover < LEAST_COVER or any(_sent(p.upper, met) < BELOW * top for p in full):
        return None
    seen = card.evidence(view, met, full)
    rate = units.rate(top)
    limit = replace(
        pair.shape(Shape.BANDWIDTH),
        parameter=max(p.x * p.bs for p in full),
        binding=frozenset(p.key for p in full),
    )
    return Opinion(
        cause=CAUSE,
        holds=True,
        weight=Weight.SHOWN,
        model=limit,
        because="",
        title=f"{met.wire.name} carries no more than {rate}",
        explanation=f"Packets wait in front of {met.wire.name} in {len(full)} of {len(slow)} slow workloads."
        + (f" {met.idle} of the same node is idle." if met.idle else ""),
        next_step=card.step(met),
        cells=frozenset(p.key for p in full),
        strength=cover,
        lead=6 * cover,
        evidence=(
            observe.slower(view),
            Evidence(
                kind=EvidenceKind.OPERATIONAL,
                statement=f"{met.wire.name} carries {observe.spread([_sent(p.upper, met) for p in full], 'rate')} in "
                f"{len(full)} slow workloads, and {units.rate(max(_sent(p.lower, met) for p in full))} with the same "
                f"from {view.below.name}",
                cells=observe.cells(view, full),
            ),
            *((seen,) if seen is not None else ()),
            *observe.operational(view, slow),
        ),
        experiment=experiment.bandwidth(pair, limit),
    )


def _wire(cell: CellSummary, met: card.Card) -> counted.Wire | None:
    return next((w for w in counted.wires(cell) if w.name == met.wire.name), None)


def _sent(cell: CellSummary, met: card.Card) -> float:
    found = _wire(cell, met)
    return 0.0 if found is None else found.sent


def _waits(point: Point, met: card.Card) -> bool:
    found = _wire(point.upper, met)
    return found is not None and (found.waiting or 0.0) >= card.WAITS
