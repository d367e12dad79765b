"""A constant cost per request.

What it claims
    The layer spends a fixed time on each request (protocol, copies, a lock, one service thread) that is neither the
    wire's round trip nor a busy CPU.
Why it matters
    It affects small requests most. Check the layer's own settings (threads, queues, copies).
Evidence it needs
    Differential: a constant time per request, in parallel or one at a time, explains the loss. Operational: the
    requests wait above the layer below, CPUs have headroom, the handshake's round trip is far shorter; or, of a server
    that tells its own times, half of the added time at least is the server's.
What rules it out
    A round trip of the same length; busy CPUs; a time that grows with the block size. Beside a limit of bytes or
    requests it has only the workloads from which it takes the larger part.
What to do next
    Larger requests, or more service threads or queues.
How sure
    By the part of the loss that is explained, and by how much better it fits than the other shapes.
Example
    Every request takes 1.2 ms longer at any depth, while the handshake's round trip is 40 µs and the CPUs are
    idle.
Source
    Microsoft, Cluster Shared Volume: a systematic approach to finding bottlenecks (a layer whose latency exceeds the
    disk's is the suspect); Talpey, SMB3 application workload performance (SNIA Storage Developer Conference).
"""

from __future__ import annotations

from dataclasses import replace

from strata import units
from strata.diagnose import connections, observe, server_times
from strata.diagnose.case import Pair
from strata.diagnose.causes.wire_latency import LEAST_SHARE
from strata.diagnose.evidence import operational
from strata.diagnose.models import LimitKind, own_part
from strata.diagnose.opinion import Opinion
from strata.model.finding import Cause, Evidence

CAUSE = Cause.PER_REQUEST_COST
PRECEDENCE = 80
SIDES = ("far", "wait")


def judge_pair(pair: Pair) -> Opinion:
    view, found = pair.view, pair.best
    slow = list(view.affected)
    if (
        found.shape in (LimitKind.BANDWIDTH, LimitKind.CAP)
        and found.base > 0
        and own_part(view, slow, found) < 1 - LEAST_SHARE
    ):
        # Two effects at once, and this is the larger one: the other's rows are left to it.
        slow = [p for p in slow if own_part(view, [p], found) < 1 - LEAST_SHARE]
        found = replace(found, shape=LimitKind.DELAY, parameter=found.base, base=0.0)
    if found.shape not in (LimitKind.DELAY, LimitKind.SERIAL) or not pair.acceptable(found):
        return _refuted(pair)
    time = units.duration(found.parameter * 1e9)
    serial = found.shape is LimitKind.SERIAL
    missing: tuple[str, ...] = ()
    trips: tuple[Evidence, ...] = ()
    trip = connections.of_added(view, found.parameter) if view.wired else None
    told = server_times.spent(slow)
    part = server_times.server_share(told)
    if view.wired and trip is None and (part is None or part < LEAST_SHARE):
        missing = ("the round-trip time of the layer's connections: without it, wire and layer cannot be separated",)
    elif trip is not None:
        if not serial and trip >= LEAST_SHARE * found.parameter:
            return Opinion(False, f"{units.duration(trip * 1e9)} of the {time} are the wire's round trip")
        trips = (
            operational(
                f"the wire's round trip is only {units.duration(trip * 1e9)} longer than below",
                value=view.remote.rtt_ns if view.remote else None,
            ),
        )
    way = "one request at a time" if serial else "per request, at every depth"
    return observe.fitted(
        pair,
        found,
        slow,
        f"a cost of {time} {way} explains {units.percent(found.explained, 2)} of the loss",
        *trips,
        *server_times.evidence(view, told),
        holds=None if missing else True,
        because="without a round-trip time it cannot be separated from the wire's latency" if missing else "",
        title=f"the layer spends {time} {'on ' if serial else ''}{way}",
        explanation=(
            "It serves requests one after the other: more depth gains up to about "
            f"{units.count(1 / found.parameter)} IOPS, and nothing beyond."
            if serial
            else "Shallow workloads lose the most; deep queues hide it."
        )
        + "".join(f" T{t.statement[1:]}." for t in trips),
        next_step="Check the layer's service threads, queues and copies; "
        + ("give it more than one service thread." if serial else "larger or deeper requests pay it less often."),
        lead=pair.lead(LimitKind.DELAY, LimitKind.SERIAL),
        missing=missing,
        **({} if found is pair.best else {"cells": frozenset(p.key for p in slow)}),
    )


def _refuted(pair: Pair) -> Opinion:
    better = min((pair.shape(LimitKind.DELAY), pair.shape(LimitKind.SERIAL)), key=lambda f: f.total)
    return observe.refuted(pair, better.shape)
