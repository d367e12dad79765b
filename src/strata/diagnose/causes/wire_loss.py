"""The wire loses packets.

What it claims
    Segments of this layer's connections are lost and retransmitted; requests wait for that, on a wire that is not
    saturated.
Why it matters
    A lost segment costs a round trip, or a timer of 200 ms and more where nothing follows it. The mean gets worse, the
    tail far worse, and neither a faster disk nor more bandwidth helps.
Evidence it needs
    Operational: in slow cells with 60 % of the loss at least 0.5 % of the TCP segments are retransmitted, and at most
    half as many in the same cells below; among them a cell that moves less than half of the bytes per second that the
    layer reaches elsewhere, so that the drops are not those of a saturated wire. Differential: the loss.
What rules it out
    No retransmitted segments. Drops at the nodes' own queues that account for half of them: then the nodes' rate is
    the limit. Segments of which the other end had half or more already (``tcpi_dsack_dups``): nothing was lost, other
    segments overtook them, and the sender took that for loss.
What to do next
    Find where they are lost: error and drop counters of ports and cables between the two ends, duplex, a full buffer.
How sure
    By the share of the loss in such cells, and by how many segments are retransmitted.
Example
    3 % of the frames lost in each direction: 8 KiB writes at depth 8 fall from 2 260 to 79 IOPS, and 3.9 % of the
    segments are retransmitted.
Source
    RFC 6298 (the minimum retransmission timer), RFC 5681; Mathis et al. 1997 (the effect of loss on a connection's
    rate); RFC 2883 and RFC 3708 (a duplicate that is acknowledged shows a retransmission without need).
"""

from __future__ import annotations

import math

import numpy as np

from strata import units
from strata.diagnose import card, connections, observe
from strata.diagnose.case import Pair
from strata.diagnose.opinion import Opinion
from strata.diagnose.view import Point
from strata.model.finding import Cause

CAUSE = Cause.WIRE_LOSS
PRECEDENCE = 30
SIDES = ("path",)
LEAST_SHARE, MORE_THAN_BELOW = 0.005, 2.0
LEAST_COVER, IDLE, OWN_DROPS, HAD_ALREADY = 0.6, 0.5, 0.5, 0.5


def judge_pair(pair: Pair) -> Opinion:
    view, slow = pair.view, pair.view.affected
    if not view.wired:
        return Opinion(False, "this layer has no wire")
    known = [(p, found) for p in slow if (found := p.upper.resources.resent) is not None]
    if not known:
        return Opinion(None, "the segments of its connections were not counted")
    lossy = [(p, r) for p, r in known if r.share >= LEAST_SHARE and _share_below(p) * MORE_THAN_BELOW <= r.share]
    cover = sum(p.loss for p, _ in lossy) / sum(p.loss for p in slow)
    if cover < LEAST_COVER:
        most = max(r.share for _, r in known)
        return Opinion(False, f"at most {units.percent(most, 2)} of the segments are retransmitted", strength=cover)
    own = sum(p.upper.resources.dropped for p, _ in lossy) / sum(r.rate for _, r in lossy)
    if own >= OWN_DROPS:
        return Opinion(False, "the nodes' own queues drop what is retransmitted: the path exceeds their rate")
    if (had := connections.had_already(p for p, _ in lossy)) >= HAD_ALREADY:
        why = f"the other end had {units.percent(had, 2)} of what is retransmitted already: it was overtaken, not lost"
        return Opinion(False, why, strength=cover)
    fastest = max(p.x * p.bs for p in view.points)
    room = {p.key for p in card.with_room(view, IDLE)}
    if not any(p.key in room for p, _ in lossy):
        return Opinion(None, "segments are retransmitted only where the wire may be saturated")
    share = float(np.median([r.share for _, r in lossy]))
    worst, seen = max(lossy, key=lambda one: one[0].loss)
    return observe.shown(
        view,
        [p for p, _ in lossy],
        f"in {len(lossy)} of {len(slow)} slow workloads {units.percent(share, 2)} of the TCP "
        f"segments are retransmitted (median), from {view.below.name} "
        f"{units.percent(_below([p for p, _ in lossy]), 2)}; {worst.workload.label}: "
        f"{units.significant(seen.rate, 2)} per second, most of them by {seen.where}",
        title=f"{units.percent(share, 2)} of the segments are lost on the wire and retransmitted",
        explanation=f"Requests wait until the loss is detected and the data is sent again. In {worst.workload.label} "
        f"the layer moves {units.rate(worst.x * worst.bs)}, elsewhere {units.rate(fastest)}: the wire is not "
        "saturated.",
        next_step="Check error and drop counters of the ports, cables and switches between the two ends; a faster "
        "disk or more depth would not help.",
        strength=cover,
        lead=10 * min(1.0, math.log10(share / LEAST_SHARE) + 0.3),
    )


def _share_below(point: Point) -> float:
    found = point.lower.resources.resent
    return found.share if found is not None else 0.0


def _below(points: list[Point]) -> float:
    return float(np.median([_share_below(p) for p in points]))
