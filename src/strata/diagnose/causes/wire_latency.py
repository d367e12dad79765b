"""The wire's latency.

What it claims
    A request of this layer takes at least one round trip longer; depth hides it, and nothing is saturated.
Why it matters
    Shallow workloads (databases, logs) pay it in full. More bandwidth and faster disks do not help; a shorter path and
    more depth do.
Evidence it needs
    Operational: the minimum round trip of the layer's own connections, as the kernel measures it, minus that of the
    layer below. One such round trip per request, and nothing else, explains half of the loss. Where connections cannot
    be seen: a constant added time explains the loss, and the handshake's round trip is at least half of it.
    Differential: the loss.
What rules it out
    A round trip that leaves the slow workloads nearly as fast as they are below. A workload that is clearly faster
    than one round trip per request allows. A single workload that is slower than predicted rules nothing out: requests
    may need several round trips (blocks larger than the window, a protocol that asks before it sends).
What to do next
    Keep more in flight (depth, larger blocks, read-ahead), then shorten the path.
How sure
    By the part of the loss that one round trip explains; from the shape alone by the part explained, and by how much
    better it fits than other shapes. The rows show the prediction and the measurement of each slow workload.
Example
    8 KiB reads take 6.5 ms instead of 1.2 ms at depth 1, and 7 to 9 ms longer at depth 8; the connection's own minimum
    round trip is 4.1 ms, nothing is dropped and nothing queues: one round trip explains 0.88 of the loss at depth 1.
Source
    Talpey, SMB3 application workload performance (SNIA Storage Developer Conference): latency = wire + server; Little
    1961 (N = X · R); RFC 7323 (round trips that TCP measures itself); RFC 5681 (the window, and slow start).
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from strata import units
from strata.diagnose import connections, models, observe, rows
from strata.diagnose.case import Pair
from strata.diagnose.evidence import operational
from strata.diagnose.explained import rows_of
from strata.diagnose.models import LimitKind
from strata.diagnose.opinion import Opinion
from strata.diagnose.view import Point, View
from strata.model.finding import Cause

CAUSE = Cause.WIRE_LATENCY
PRECEDENCE = 45
SIDES = ("path", "wait")
LEAST_SHARE, QUIET_WIRE = 0.5, 2.0
FIRST_WINDOW = 10 * 1448
"""Bytes under way in the first round trip of a connection that was idle (RFC 6928); each further trip doubles them."""


def judge_pair(pair: Pair) -> Opinion:
    if not pair.view.wired:
        return Opinion(False, "this layer has no wire")
    trip = connections.farther(pair.view)
    shown = None if trip is None else _shown(pair, trip)
    if shown is not None and shown.holds:
        return shown
    # What ends the connections on the way answers for itself: behind it the way goes on.
    by_shape = _by_shape(pair)
    return shown if shown is not None and not by_shape.holds else by_shape


def _shown(pair: Pair, trip: float) -> Opinion:
    view, slow = pair.view, pair.view.affected
    word = units.duration(trip * 1e9)
    longer = f"the minimum round trip of its connections is {word} longer than that of {view.below.name}"
    found = tuple(predicted(view, p, trip) for p in view.points)
    of_slow = tuple(f for f in found if f.point in slow)
    cover = rows.cover(of_slow, slow)
    if cover < LEAST_SHARE:
        small = f"that explains {units.percent(cover, 2)} of the loss"
        return Opinion(False, longer, detail=small, strength=cover)
    if (faster := rows.exceeded(found)) is not None:
        return Opinion(False, f"{longer}, and requests do not wait for it", detail=rows.said(faster), strength=cover)
    if (queue := _waits_alone(view)) is not None:
        why = (
            f"{longer}, and even at depth {queue[0]} the usual round trip is {units.significant(queue[1], 2)} times "
            "the minimum: it queues"
        )
        return Opinion(None, f"{why} behind other traffic on the way", missing=("the round trip of an idle wire",))
    mine = tuple(f for f in of_slow if f.share >= LEAST_SHARE)
    worst = max(mine, key=lambda f: f.share * f.point.loss)
    return observe.shown(
        view,
        [f.point for f in mine],
        f"{longer}, and nothing queues on the way; one round trip per request explains "
        f"{units.percent(cover, 2)} of the loss. {rows.said(worst)}",
        adds=True,
        model=replace(
            pair.shape(LimitKind.DELAY), parameter=trip, base=0.0, times=most_trips(min(p.bs for p in view.points))
        ),
        title=f"the wire adds {word} to each request",
        explanation=f"One round trip takes {word} longer than at {view.below.name}, which explains "
        f"{units.percent(cover, 2)} of the loss. Deep queues hide it; shallow workloads pay it in full.",
        next_step=_step(worst.point, trip),
        strength=cover,
        lead=10 * cover,
        rows=mine,
        held_up=True,
    )


def _waits_alone(view: View) -> tuple[int, float] | None:
    """(least depth, usual ÷ least round trip there) where even the layer's shallowest cells meet a queue: what is least
    there is no distance. None where they do not."""
    shallow = min(p.n for p in view.everything)
    trips = [t for p in view.everything if p.n == shallow and (t := connections.trip(p.upper)) is not None]
    # Usual has the far end's own time in it where its answer brings the acknowledgement: the quickest says what waits.
    ratio = min((t.usual / t.least for t in trips), default=1.0)
    return (shallow, ratio) if ratio > QUIET_WIRE else None


def predicted(view: View, point: Point, trip: float) -> rows.Predicted:
    """With one round trip for each request at most so much; at least as much as with every trip that it may need."""
    low, high = models.with_delay(view, point, np.array([trip, trip * most_trips(point.bs)]))
    most = models.most_with_delay(view, point, trip)
    return rows.Predicted(point, min(float(low[1]), float(low[0])), most, sure=float(high[0]))


def most_trips(size: float) -> int:
    """Round trips that one request of so many bytes may take: it is asked for, and a cold window doubles until all of
    it was sent."""
    return 1 + math.ceil(math.log2(1 + size / FIRST_WINDOW))


def _step(worst: Point, trip: float) -> str:
    share = units.percent(worst.x * trip / worst.n, 2)
    return (
        "Keep more in flight (depth, larger blocks, read-ahead), or shorten the path; a faster disk would not help. "
        f"The round trip is {share} of the time of {worst.workload.label}."
    )


def _by_shape(pair: Pair) -> Opinion:
    """Where the connections were not seen: by one constant time, and by the handshake's round trip."""
    view, found = pair.view, pair.shape(LimitKind.DELAY)
    slow, beside = view.affected, pair.best
    if beside.base > 0 and pair.acceptable(beside):
        # Two effects at once: the constant part of them is the wire's, or the layer's own.
        found = replace(found, parameter=beside.base, base=0.0, explained=beside.explained)
    two = found.parameter == beside.base
    added = units.duration(found.parameter * 1e9)
    fits = two or (pair.best is found and pair.acceptable(found))
    if view.rtt is None:
        if not fits:
            return observe.refuted(pair, LimitKind.DELAY)
        return Opinion(
            None, "its round trip was not measured", missing=("the round-trip time of the layer's connections",)
        )
    trip = units.duration(view.rtt * 1e9)
    if view.rtt > connections.MOST_OF_ADDED * found.parameter:
        return Opinion(False, f"its handshake takes {trip} per round trip, which requests do not wait for")
    if view.rtt < LEAST_SHARE * found.parameter:
        longer = f"its round trip is only {trip} longer than that of {view.below.name}"
        near = view.rtt / found.parameter
        if fits:
            return Opinion(False, f"{longer}, and each request takes {added} longer", strength=near)
        shape = observe.refuted(pair, LimitKind.DELAY)
        return Opinion(False, longer, detail=shape.because, strength=min(near, shape.strength))
    if not fits:
        return observe.refuted(pair, LimitKind.DELAY)
    cells = frozenset(p.key for p in slow if p.key in found.binding or abs(found.residual[p.key]) <= 2.5)
    told = rows_of(pair, found, [p for p in slow if p.key in cells])
    return observe.fitted(
        pair,
        found,
        slow,
        f"a constant {added} per request explains {units.percent(found.explained, 2)} of the loss",
        operational(
            f"the minimum round trip of the handshake is {trip} longer than that of {view.below.name}",
            value=view.remote.rtt_ns if view.remote else None,
        ),
        title=f"the wire adds {added} to each request",
        explanation=f"Requests take {added} longer at every depth, and {trip} of it is the round trip of the "
        "handshake, which touches no data. Deep queues hide it; shallow workloads pay it in full.",
        next_step="Keep more in flight (depth, larger blocks, read-ahead) or shorten the path; a faster disk would "
        "not help.",
        cells=cells,
        lead=pair.lead(beside.shape) if two else pair.lead(LimitKind.DELAY, LimitKind.SERIAL),
        rows=told,
        adds=two,
    )
