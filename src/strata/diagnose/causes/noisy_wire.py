"""Other traffic on the wire.

What it claims
    Other traffic saturates the card that this layer's requests need.
Why it matters
    The wire is as fast as it should be. Look for the other traffic, not at the link's rate, the disk or the protocol.
Evidence it needs
    Operational: in slow cells with 60 % of the loss, packets queue in front of a card, or the card carries at least
    85 % of the most that it carried with such a queue; and the same card carries at least a fifth of that while the
    layer below is measured, which does not use it. Differential: the loss.
What rules it out
    A card that is idle while nothing on the path uses it; a card that is not saturated; a layer below that uses the
    wire too: its traffic comes and goes with the workload.
What to do next
    Find the sender (per-connection counters of both nodes), then move it, limit it, or give this layer its own card.
How sure
    By the share of the loss in such cells.
Example
    A neighbour reads 90 MB/s over eth0; 128 KiB reads fall to a third, while the card carries its 119 MB/s.
Source
    Denning, Buzen 1978 (a saturated station, whatever saturates it); the kernel's counters of interfaces and queues.
"""

from __future__ import annotations

from strata import units
from strata.diagnose import card, observe
from strata.diagnose.case import Pair
from strata.diagnose.opinion import Opinion
from strata.model.finding import Cause

CAUSE = Cause.NOISY_WIRE
PRECEDENCE = 35
SIDES = ("full", "bytes", "others", "path")
LEAST_COVER = 0.6


def judge_pair(pair: Pair) -> Opinion:
    view, slow = pair.view, pair.view.affected
    if not view.wired:
        return Opinion(False, "this layer has no wire")
    met = card.card_of(slow)
    if met is None:
        return Opinion(None, "the bytes of its network cards were not counted")
    others = card.neighbour(view)
    if others is None:
        least = min(card.rate(p.lower, met.wire) for p in view.everything)
        return Opinion(False, f"{met.wire.name} carries {units.rate(least)} while this layer is not measured")
    full, _ = card.filled(slow, met.wire)
    cover = sum(p.loss for p in full) / sum(p.loss for p in slow)
    if cover < LEAST_COVER:
        why = f"{met.wire.name} is not saturated in workloads with {units.percent(1 - cover, 2)} of the loss"
        return Opinion(False, why, strength=cover)
    top = max(card.rate(p.upper, met.wire) for p in full)
    return observe.shown(
        view,
        full,
        f"{met.wire.name} carries {units.rate(others.rate)} (median) while {view.below.name} is "
        f"measured, which does not use it, and {units.rate(top)} with {view.layer.name}",
        title=f"other traffic of {units.rate(others.rate)} uses {met.wire.name}",
        explanation=f"{met.wire.name} is saturated with {units.rate(top)} in {len(full)} of {len(slow)} slow "
        f"workloads, and it carries {units.rate(others.rate)} while nothing on this path uses it.",
        next_step=f"Find the sender of the other traffic over {met.wire.name} (ss -ti at both nodes) and move it, "
        "limit it, or give this layer its own card; a faster disk would not help.",
        strength=cover,
        lead=10 * min(1.0, others.rate / top + 0.3),
        held_up=True,
    )
