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
from strata.diagnose import card, observe
from strata.diagnose.case import Pair
from strata.diagnose.evidence import operational
from strata.diagnose.models import LimitKind
from strata.diagnose.opinion import Opinion, Weight

LEAST_COVER, BELOW = 0.6, 0.5


def judge_pair(pair: Pair) -> Opinion | None:
    """None where the queues do not show it."""
    view, slow = pair.view, pair.view.affected
    met = card.card_of(slow)
    if met is None:
        return None
    queued, top = card.filled(slow, met.wire)
    full = [p for p in queued if card.rate(p.lower, met.wire) < BELOW * top]
    cover = sum(p.loss for p in full) / sum(p.loss for p in slow)
    if cover < LEAST_COVER or any(card.rate(p.upper, met.wire) < BELOW * top for p in full):
        return None
    seen = card.evidence(view, met, full)
    rate, sent = units.rate(top), [card.rate(p.upper, met.wire) for p in full]
    limit = replace(
        pair.shape(LimitKind.BANDWIDTH),
        parameter=max(p.x * p.bs for p in full),
        binding=frozenset(p.key for p in full),
    )
    return Opinion(
        weight=Weight.SHOWN,
        model=limit,
        title=f"{met.wire.name} is limited to {rate}",
        explanation=f"Packets queue in front of {met.wire.name} in {len(full)} of {len(slow)} slow workloads."
        + (f" {met.idle} of the same node is idle." if met.idle else ""),
        next_step=card.step(met),
        cells=frozenset(p.key for p in full),
        strength=cover,
        lead=6 * cover,
        evidence=(
            observe.slower(view),
            operational(
                f"{met.wire.name} carries {observe.spread(sent, 'rate')} in {len(full)} slow workloads, "
                f"and {units.rate(max(card.rate(p.lower, met.wire) for p in full))} with the same workloads on "
                f"{view.below.name}",
                observe.cells(view, full),
            ),
            *((seen,) if seen is not None else ()),
            *observe.waits_above(view, slow),
        ),
    )
