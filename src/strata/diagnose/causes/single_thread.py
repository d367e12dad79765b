"""One thread.

What it claims
    One thread of a server does all of the work and is saturated, while CPUs of the same machine are idle.
Why it matters
    More cores gain nothing, and the machine looks idle. More threads, connections, queues or servers help.
Evidence it needs
    Operational: in slow cells with 60 % of the loss, the busiest thread of one server takes at least 85 % of a
    CPU (the median of those cells), at least half a CPU of its node is idle, and in the same cells below
    the thread takes at most half as much. Differential: the loss.
What rules it out
    A busiest thread with headroom; CPUs that are all busy; a thread that is as busy below.
What to do next
    More connections or service threads; where the server has one thread by design, several servers or another one.
How sure
    By the share of the loss in such cells, and by how busy the thread is.
Example
    nbdkit serves one connection with one thread, 97 % busy at 21 000 IOPS at depths 8 and 32; three of four cores are
    idle.
Source
    Denning, Buzen 1978 (utilisation law: X ≤ 1 ÷ demand); Gregg, the USE method (saturation by thread, not by
    machine).
"""

from __future__ import annotations

import numpy as np

from strata import units
from strata.diagnose import observe, rows
from strata.diagnose.case import Pair
from strata.diagnose.opinion import Opinion
from strata.diagnose.view import Point
from strata.model.analysis import CellSummary
from strata.model.finding import Cause
from strata.model.resources import ServerProcess, place

CAUSE = Cause.SINGLE_THREAD
PRECEDENCE = 25
SIDES = ("full", "far")
FULL, LEAST_COVER, MORE_THAN_BELOW, IDLE, SLACK = 0.85, 0.6, 2.0, 0.5, 0.15


def judge_pair(pair: Pair) -> Opinion | None:
    """See the module; None where no thread of a server was read."""
    view, slow = pair.view, pair.view.affected
    known = [(p, s) for p in slow if (s := _busiest(p.upper)) is not None]
    if not known:
        return None
    full = [(p, s) for p, s in known if _full(p, s)]
    cover = sum(p.loss for p, _ in full) / sum(p.loss for p in slow)
    if cover < LEAST_COVER:
        server = max((s for _, s in known), key=lambda s: s.busiest_thread or 0.0)
        share = units.percent(server.busiest_thread or 0.0, 2)
        return Opinion(
            False,
            f"the busiest thread of {server.name} uses at most {share} of a CPU",
            strength=server.busiest_thread or 0.0,
        )
    server = full[0][1]
    who = place(server.name, server.node)
    middle = float(np.median([s.busiest_thread or 0.0 for _, s in full]))
    told = _predicted(full)
    return observe.shown(
        view,
        [p for p, _ in full],
        f"in {len(full)} of {len(slow)} slow workloads the busiest thread of {who} uses "
        f"{units.percent(middle, 2)} of a CPU (median), and at least half a CPU is idle",
        title=f"one thread of {who} does all the work and is {units.percent(middle, 2)} busy",
        explanation=f"In {len(full)} of {len(slow)} slow workloads one thread of {who} is saturated while other "
        "CPUs are idle. More depth and more cores gain nothing.",
        next_step=f"Use more connections, or give {who} more service threads, or run several servers of it.",
        strength=cover,
        lead=10 * cover * middle,
        rows=told,
    )


def _busiest(cell: CellSummary) -> ServerProcess | None:
    known = [s for s in cell.resources.servers if s.busiest_thread is not None]
    return max(known, key=lambda s: s.busiest_thread or 0.0, default=None)


def _full(point: Point, server: ServerProcess) -> bool:
    """Whether its thread has nothing left here and has below, while the node has CPUs that are idle."""
    idle = [p for p in point.upper.resources.processors if p.node in (server.node, None)]
    # A namespace has the processors of its machine.
    room = max(((1 - p.busy) * p.count for p in idle[-1:]), default=0.0)
    there = [s for s in point.lower.resources.servers if (s.node, s.name) == (server.node, server.name)]
    below = max((s.busiest_thread or 0.0 for s in there), default=0.0)
    busy = server.busiest_thread or 0.0
    return busy >= FULL and room >= IDLE and below * MORE_THAN_BELOW <= busy


def _predicted(full: list[tuple[Point, ServerProcess]]) -> tuple[rows.Predicted, ...]:
    """The utilisation law: no more than 1 ÷ what a request of that size asks of the thread (median of its cells)."""
    found = []
    for point, _ in full:
        alike = [(s.busiest_thread or 1.0) / p.x for p, s in full if p.bs == point.bs]
        most = 1 / float(np.median(alike))
        found.append(rows.Predicted(point, (1 - SLACK) * most, min(point.x_below, (1 + SLACK) * most)))
    return tuple(found)
