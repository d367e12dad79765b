"""A small TCP window.

What it claims
    Data that is read waits at the server until the client's receive window has room again: the window limits the bytes
    in flight.
Why it matters
    The wire and the disk are idle while the server waits. One setting fixes it; a faster wire or disk would not help.
Evidence it needs
    Operational: in slow reads with 60 % of the loss, the kernel at the server's end counts a fifth of the time or more
    in which it had data to send and the window was closed (TCP_INFO, ``tcpi_rwnd_limited``), and at most half as much
    in the same reads below. Differential: the loss.
What rules it out
    An open window. It says nothing about writes: a server that takes its data slowly closes its window, too. The load
    generator takes the data that it reads at once, unless its own CPU is saturated.
What to do next
    Let the receive buffer grow: ``net.ipv4.tcp_rmem`` of the client, no fixed SO_RCVBUF, window scaling that no
    firewall removes. Until then, use more connections, each with a window of its own.
How sure
    By the part of the loss in such reads; sure if the same requests over twice the connections give more.
Example
    A receive buffer of 5 KiB: 128 KiB reads at depth 8 fall from 1 378 to 427 IOPS, and the window is closed for 43 %
    of the time.
Source
    RFC 9293 (the window), RFC 7323 (its scaling); the kernel's tcp(7) and ip-sysctl (tcp_rmem).
"""

from __future__ import annotations

import numpy as np

from strata import units
from strata.diagnose import observe
from strata.diagnose.case import Pair
from strata.diagnose.opinion import Opinion
from strata.model.analysis import CellSummary
from strata.model.finding import Cause

CAUSE = Cause.SMALL_WINDOW
PRECEDENCE = 29
SIDES = ("path",)
LEAST_CLOSED, MORE_THAN_BELOW, LEAST_COVER = 0.2, 2.0, 0.6


def judge_pair(pair: Pair) -> Opinion:
    view = pair.view
    if not view.wired:
        return Opinion(False, "this layer has no wire")
    slow = [p for p in view.affected if not p.workload.rw.writes]
    if not slow:
        return Opinion(False, "its reads are not slow")
    known = [(p, share) for p in slow if (share := _closed(p.upper)) is not None]
    if not known:
        return Opinion(None, "the server's connections were not read")
    held = [(p, s) for p, s in known if s >= max(LEAST_CLOSED, MORE_THAN_BELOW * (_closed(p.lower) or 0.0))]
    cover = sum(p.loss for p, _ in held) / sum(p.loss for p in view.affected)
    if cover < LEAST_COVER:
        most = units.percent(max(share for _, share in known), 2)
        return Opinion(False, f"the window is closed for at most {most} of the time", strength=cover)
    closed = units.percent(float(np.median([share for _, share in held])), 2)
    worst, share = max(held, key=lambda one: one[0].loss)
    return observe.shown(
        view,
        [p for p, _ in held],
        f"in {len(held)} of {len(view.affected)} slow workloads the receiver's window blocks the "
        f"server for {closed} of the time (median); {worst.workload.label}: {units.percent(share, 2)}",
        title=f"the client's TCP window is closed for {closed} of the time",
        explanation="The server has data to send and waits for room in the client's receive window. In "
        f"{worst.workload.label} the layer moves {units.rate(worst.x * worst.bs)}, and {view.below.name} "
        f"{units.rate(worst.x_below * worst.bs)}.",
        next_step="Let the client's receive buffer grow (net.ipv4.tcp_rmem, no fixed SO_RCVBUF, window scaling not "
        "removed by a firewall); until then use more connections. A faster wire or disk would not help.",
        strength=cover,
        lead=10 * min(1.0, share / (2 * LEAST_CLOSED)),
    )


def _closed(cell: CellSummary) -> float | None:
    """The part of the time in which a server's connection waited for the receiver's window, of the peer where it is
    most; None where no server's end was read."""
    ends = [p for p in cell.resources.paths if p.end == "server" and p.receiver_limited is not None]
    return max((p.receiver_limited or 0.0) / p.connections for p in ends) if ends else None
