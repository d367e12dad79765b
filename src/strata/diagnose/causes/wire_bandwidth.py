"""The wire's bandwidth.

What it claims
    All requests of this layer share a fixed number of bytes per second; the layer below could deliver more.
Why it matters
    Tuning the disk or the file system does not help; only fewer bytes or a faster path do.
Evidence it needs
    Differential: X = min(X_below, W ÷ size) with one W explains the loss over block sizes and depths; small or shallow
    workloads lose nothing but size ÷ W per request. Where a constant time was fitted beside it, a workload is the
    wire's only if W takes the larger part. Where a layer stalls, by the rates between the stalls.
    Operational: requests wait above the layer below, CPUs are idle. Where they are counted: packets that queue in
    front of an interface, and a second one that is idle.
What rules it out
    Slow cells that carry different bytes per second; a layer without a wire; segments that are sent again in the cells
    that reach the limit though the other end had half of them already, while no packets wait before a card. Not certain
    where segments are sent again in cells that do not fill it: whatever loses or reorders them slows TCP down, and that
    looks the same. Nor where a single workload stops at the rate and no packets wait: whatever slows one has a rate.
What to do next
    Check the link's rate and its path, compression and the number of connections; then limits set on the volume.
How sure
    By the part of the loss that is explained, and by how much better it fits than a cap or a latency. Workloads that
    a constant time holds back are not explained, and take confidence with them. A wire and a bytes-per-second limit at
    the remote end look the same.
Example
    128 KiB reads give 160 IOPS and 8 KiB reads 2 560 over a path whose other end gives 4 000 for both: 20 MiB/s.
Source
    Talpey, SMB3 application workload performance (SNIA Storage Developer Conference): multichannel and network limits;
    asymptotic bounds: Denning, Buzen 1978; RFC 3708 (a duplicate that is acknowledged shows a retransmission without
    need); Blanton, Allman 2002 (segments that overtake each other make TCP send less).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from strata import units
from strata.diagnose import card, connections, full_card, models, observe
from strata.diagnose.case import Pair
from strata.diagnose.explained import contradiction
from strata.diagnose.models import LimitDirection, LimitKind, own_part
from strata.diagnose.opinion import Opinion, Weight
from strata.diagnose.view import Point
from strata.model.finding import Cause

CAUSE = Cause.WIRE_BANDWIDTH
PRECEDENCE = 50
SIDES = ("full", "bytes", "path")
LEAST_OWN = 0.5
"""Of the loss, beside a constant time for each request."""
FILLED, SENT_AGAIN, HAD_ALREADY = 0.5, 0.002, 0.5
"""Of the limit: what moves less does not fill the wire; of its segments: more than that are sent again without need;
of these: so many had arrived, and were overtaken."""


def judge_pair(pair: Pair) -> Opinion:
    """See the module. Where the counters say more of a full wire than that it is full, it is left to who says it."""
    found = limit(pair)
    if not found.holds:
        return found
    if (others := card.neighbour(pair.view)) is not None:
        return Opinion(False, f"{others.wire.name} carries {units.rate(others.rate)} of other traffic")
    if (alone := card.alone(pair.view, found.cells)) is not None:
        return Opinion(False, f"{alone.wire.name} is one card of several, and {alone.idle} carries nothing")
    return found


def limit(pair: Pair) -> Opinion:
    """Whether all requests share so many bytes per second, by the shape of the losses or by a queue before a card."""
    view, found = pair.view, pair.shape(LimitKind.BANDWIDTH)
    slow = view.affected
    if not view.wired:
        return Opinion(False, "this layer has no wire")
    if pair.best is not found or not pair.acceptable(found):
        if (by_queue := full_card.judge_pair(pair)) is not None:
            again = _sent_again(pair, by_queue.model or found)
            return by_queue if again is None else replace(by_queue, holds=None, missing=(again,))
        return observe.refuted(pair, LimitKind.BANDWIDTH)
    if (faster := contradiction(pair, found)) is not None:
        told = (
            f"{faster.cell} gives {units.count(faster.measured)} IOPS, more than the {units.count(faster.high)} it "
            "allows"
        )
        why = f"{observe.parameter(found)} is exceeded"
        return Opinion(False, why, detail=told, strength=found.explained)
    if (own := own_part(view, slow, found)) < LEAST_OWN:
        constant = f"{units.duration(found.base * 1e9)} per request explains the rest"
        why = f"{observe.parameter(found)} explains {units.percent(own, 2)} of the loss, {constant}"
        return Opinion(False, why, strength=own)
    bound = observe.bound(view, found)
    full = [p for p in bound if p.x * p.bs >= 0.8 * found.parameter] or bound
    rate = units.rate(found.parameter)
    met = card.card_of(full)
    seen = card.evidence(view, met, full) if met is not None else None
    again, overtaken = _sent_again(pair, found), _overtaken(full, met)
    if overtaken is not None and met is not None:
        return Opinion(False, overtaken, strength=found.explained)
    again = again or overtaken
    queued = met is not None and met.full
    missing = (*((again,) if again is not None else ()), *(() if queued else observe.missing_beside(full)))
    where = "" if found.scope is LimitDirection.BOTH else f" for {found.scope.value}"
    return observe.fitted(
        pair,
        found,
        bound,
        f"one limit of {rate} explains {units.percent(found.explained, 2)} of the loss; "
        f"{units.plural(len(full), 'workload')} reached it ({observe.spread([p.x * p.bs for p in full], 'rate')})",
        *((seen,) if seen is not None else ()),
        holds=None if missing else True,
        weight=Weight.SHOWN if queued else Weight.SUGGESTED,
        missing=missing,
        alike=again is not None,
        title=f"the wire is limited to {rate}{where}",
        explanation=f"{observe.stopping([p.bs for p in full], rate)}; {view.below.name} delivers up to "
        f"{units.rate(max(p.x_below * p.bs for p in bound))}. " + _which(met),
        next_step=card.step(met),
        lead=pair.lead(LimitKind.BANDWIDTH),
    )


def _sent_again(pair: Pair, found: models.Fit) -> str | None:
    """What is missing where segments are sent again though the wire is not full: the sender slows down after each
    (RFC 5681), which looks like a limit of bytes."""
    room = {p.key for p in card.with_room(pair.view, FILLED)}
    idle = [p for p in pair.view.points if p.key in room and p.x * p.bs < FILLED * found.parameter]
    shares = [again.share for p in idle if (again := p.upper.resources.resent) is not None]
    if not shares or (usual := float(np.median(shares))) < SENT_AGAIN:
        return None
    return f"a wire that keeps segments in order: {units.percent(usual, 2)} are sent again where it is not full"


def _overtaken(full: Sequence[Point], met: card.FirstCard | None) -> str | None:
    """Why the limit is TCP's own: in the cells that reach it segments are sent again that the other end had by then. A
    wire that is full makes packets wait, or drops them, and then the others never arrived."""
    shares = [again.share for p in full if (again := p.upper.resources.resent) is not None]
    usual = float(np.median(shares)) if shares else 0.0
    if (met is not None and met.full) or usual < SENT_AGAIN or connections.had_already(full) < HAD_ALREADY:
        return None
    return (
        f"segments overtake each other: {units.percent(usual, 2)} are sent again, most of them had arrived, and no "
        "packets wait before a card"
    )


def _which(met: card.FirstCard | None) -> str:
    if met is None or not (met.full or met.idle):
        return "A bytes-per-second limit at the remote end would look the same."
    full = f"Packets queue in front of {met.wire.name}. " if met.full else ""
    return full + (f"{met.idle} of the same node is idle." if met.idle else "")
