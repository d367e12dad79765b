"""The CPUs.

What it claims
    In the slow cells the CPUs of this machine are saturated; a request of this layer costs CPU time.
Why it matters
    A faster disk or wire changes nothing; fewer copies, larger requests or more cores do.
Evidence it needs
    Operational: threads of a server are runnable but wait for a CPU. They wait longer than those of the load
    generator and than in the same cells below, and their waits explain 60 % of the loss, 25 % by the waits of
    each request's own thread alone; in one cell these cost 1.25 times beyond what the layer may cost. Or, in the
    cells that hold 60 % of the loss: the CPUs are saturated (busy share at least 85 %, or one CPU at least 95 %,
    with a cell somewhere in the run below 70 %), or the time that the layer adds to a request is CPU time (see
    `working`). In either case the cells are clearly busier (8 points) than the same cells on the layer below, so
    that it is the layer and not a neighbour. Differential: the loss.
What rules it out
    Headroom in the slow cells. Fewer than one thread that waits for a CPU while several requests are
    outstanding. The same cells below that keep them as busy without being slow. One common rate of bytes over very
    different block sizes. CPUs that are busy in every cell say nothing either way: someone else may use them.
What to do next
    Larger requests, less copying (a local socket, zero copy), more cores, or another machine for the server.
How sure
    By the share of the loss in saturated cells, and by how busy the CPUs are. The remote end's CPUs are
    seen only when it is this machine. More depth does not refute servers that wait for a CPU: beside the work of
    others one gets a CPU seldom, and then serves all requests that wait.
Example
    A share over loopback on two cores: both 97 % busy at depth 8 and more, 0.4 of the file system's IOPS.
Source
    Microsoft, Cluster Shared Volume: a systematic approach to finding bottlenecks (CPU bound); Talpey, SMB3
    application workload performance (SNIA Storage Developer Conference): cycles per byte at both ends; Denning, Buzen
    1978 (saturation).
"""

from __future__ import annotations

import numpy as np

from strata import units
from strata.diagnose import observe, ready, rows
from strata.diagnose.case import Pair
from strata.diagnose.evidence import operational
from strata.diagnose.opinion import Opinion, Weight
from strata.diagnose.own_limits import SLOW
from strata.diagnose.view import Point
from strata.model.analysis import CellSummary
from strata.model.counters import cpu
from strata.model.finding import Cause
from strata.model.resources import place

CAUSE = Cause.PROCESSORS
PRECEDENCE = 40
SIDES = ("full",)
FULL, ONE_FULL, QUIET, LEAST_COVER = 0.85, 0.95, 0.70, 0.6
MORE_THAN_BELOW, ONE_RATE = 0.08, 1.1
LEAST_WAITING = 1.0
"""Threads ready to run, mean: CPUs that limit a deep queue have a queue of their own. A share that polls, or two
busy threads on two CPUs, leave none in front of them."""
WORKING = 0.7
"""CPUs at work per added second. Not enough alone: on two CPUs a share over loopback gave 0.9 to 1.6 at
depth 1 and 1.9 to 2.7 at depth, but a slow wire, a far wire and a cap gave up to 2.0 too, with a neighbour at work
(216 cells of 30 runs, medians 0.1 to 0.7). What keeps a neighbour from being blamed is `MORE_THAN_BELOW`."""


def full(cell: CellSummary) -> bool:
    """All CPUs nearly used up, or one of them entirely."""
    return (cell.cpu_busy or 0) >= FULL or (cell.cpu_busiest or 0) >= ONE_FULL


def _nobody_waits(point: Point) -> bool:
    """Several requests are outstanding, and no thread of the generator or of a server waits for a CPU."""
    seen = ready.waiting(point.upper)
    return point.n > 1 and seen is not None and seen.own + seen.served < LEAST_WAITING


def working(point: Point) -> float | None:
    """How many CPUs are at work during the time that the layer adds between two requests.

    Added CPU time per request ÷ added time from one request to the next (1/X here − 1/X below). Where a layer
    makes requests wait (a wire, a cap, a far end) this is near 0; where it makes them work it is 1 or more.
    """
    here, there = cost_ns(point.upper), cost_ns(point.lower)
    added = 1e9 / point.x - 1e9 / point.x_below
    return (here - there) / added if here is not None and there is not None and added > 0 else None


def judge_pair(pair: Pair) -> Opinion:
    return _waited_for(pair) or _used_up(pair)


def _waited_for(pair: Pair) -> Opinion | None:
    """A server's threads are ready to run, and wait: the CPUs are short for it, whoever has them."""
    view, slow = pair.view, pair.view.affected
    found = ready.predicted(slow)
    cover = ready.explains(found, slow)
    if cover is None:
        return None
    mine = [f for f in found if f.share >= 0.5]
    worst = max(mine, key=lambda f: f.share * f.point.loss, default=None)
    seen = ready.waiting(worst.point.upper) if worst is not None else None
    if worst is None or seen is None or seen.server is None or seen.own > seen.served:
        return None
    who = place(seen.server.name, seen.server.node)
    share = units.percent(seen.share(worst.point.n), 2)
    # What the layer may cost is no loss of theirs, and beside a neighbour any server waits a little.
    if not any(f.high <= f.point.x_below * f.point.comparison.line / SLOW for f in found):
        return Opinion(False, f"{who} waits for a CPU during {share} of a request's time", strength=cover)
    return observe.shown(
        view,
        [f.point for f in mine],
        f"in {len(mine)} of {len(slow)} slow workloads servers wait for a CPU, which "
        f"explains {units.percent(cover, 2)} of the loss. {rows.said(worst)}",
        title=f"{who} waits for a CPU during {share} of a request's time",
        explanation=f"Each second, the threads of {who} run for {units.significant(seen.server.cores, 2)} s and wait "
        f"{units.significant(seen.served, 2)} s for a CPU, added up, in {worst.point.workload.label}.",
        next_step=f"Give {who} more CPU time: fewer neighbours on its CPUs, a higher quota or weight of "
        "its control group, more cores. A faster wire or disk would not help.",
        strength=cover,
        lead=10 * cover,
        rows=mine,
        in_turns=True,
    )


def _used_up(pair: Pair) -> Opinion:
    """This machine's CPUs are used up, or what the layer adds to a request is their work."""
    view, slow = pair.view, pair.view.affected
    shares = observe.busy(slow)
    if not shares:
        return Opinion(None, "the CPUs were not read", missing=("CPU counters",))
    at_work = [p for p in slow if not _nobody_waits(p)]
    saturated = [p for p in at_work if full(p.upper) or (working(p) or 0) >= WORKING]
    cover = sum(p.loss for p in saturated) / sum(p.loss for p in slow)
    if cover < LEAST_COVER:
        low, high = min(shares), max(shares)
        text = units.percent(low, 2) if high - low < 0.02 else units.span(units.percent(low, 2), units.percent(high, 2))
        return Opinion(False, f"they are {text} busy in the slow workloads", strength=high)
    cells = view.analysis.cells
    quiet = min((c.cpu_busy for c in cells if c.cpu_busy is not None), default=1.0)
    everywhere = all(full(c) for c in cells if c.cpu_busy is not None)
    spent_there = sum(p.loss for p in at_work if (working(p) or 0) >= WORKING) / sum(p.loss for p in slow)
    if spent_there < LEAST_COVER and (quiet >= QUIET or everywhere):
        why = f"the CPUs were at least {units.percent(quiet, 2)} busy in every workload, also where nothing is slow"
        return Opinion(None, why, missing=("an otherwise idle machine",))
    more = _more_than_below(saturated)
    if more is not None and more < MORE_THAN_BELOW:
        why = f"{view.below.name} keeps them as busy with the same workloads and is not slow"
        return Opinion(False, why)
    if (rate := _one_rate(slow)) is not None:
        return Opinion(False, f"{len(slow)} slow workloads of very different block sizes share {units.rate(rate)}")
    used = float(np.median([p.upper.cpu_busy or 0 for p in saturated]))
    top = float(np.median([max(p.upper.cpu_busy or 0, 0.9 * (p.upper.cpu_busiest or 0)) for p in saturated]))
    spent = float(np.median([working(p) or 0 for p in saturated]))
    used_up = used >= FULL
    return Opinion(
        weight=Weight.SHOWN,
        title=f"the CPUs are {units.percent(used, 2)} busy"
        if used_up
        else f"its requests cost CPU time; the CPUs are {units.percent(used, 2)} busy",
        explanation=(
            f"The same CPUs serve {view.layer.name} and generate the load; they are saturated."
            if used_up
            else f"What {view.layer.name} adds to a request is CPU time, not waiting."
        )
        + _cost(saturated, view.below.name),
        next_step="Use larger requests, give the layer more cores, or run its server on another machine.",
        cells=frozenset(p.key for p in saturated),
        strength=cover,
        lead=max(0.0, 10 * (top - 0.75) / 0.25, 6 * min(1.0, (spent - WORKING) / WORKING)),
        evidence=(
            observe.slower(view),
            operational(
                f"in {len(saturated)} of {len(slow)} slow workloads the added time is CPU "
                f"time ({units.percent(used, 2)} busy): the CPUs work {units.significant(spent, 2)} of each "
                f"added second; the quietest workload of the run leaves {units.percent(1 - quiet, 2)} idle",
                tuple(view.cell(p) for p in saturated),
            ),
        ),
    )


def _more_than_below(points: list[Point]) -> float | None:
    """How much busier the CPUs are than in the same cells below, median; None where that was not read.

    A neighbour's work is in both. What this layer needs is in its own cells alone.
    """
    pairs = [(p.upper.cpu_busy, p.lower.cpu_busy) for p in points]
    known = [a - b for a, b in pairs if a is not None and b is not None]
    return float(np.median(known)) if known else None


def _one_rate(slow: tuple[Point, ...]) -> float | None:
    """The bytes per second that cells of very different block size have in common, where they do.

    What a request costs the CPU hardly grows with its size, so saturated CPUs give no such figure.
    """
    slowest = [p for p in slow if p.n > 1]
    rates = [p.x * p.bs for p in slowest]
    sizes = {p.bs for p in slowest}
    if len(rates) < 3 or max(sizes) < 4 * min(sizes) or max(rates) > ONE_RATE * min(rates):
        return None
    return float(np.median(rates))


def _cost(points: list[Point], below: str) -> str:
    for p in points:
        here, there = cost_ns(p.upper), cost_ns(p.lower)
        if here and there and here > there:
            return (
                f" A request costs {units.duration(here)} of CPU time here and "
                f"{units.duration(there)} on {below} ({p.workload.label})."
            )
    return ""


def cost_ns(cell: CellSummary) -> float | None:
    """CPU time per I/O over the whole machine, ns (cycles per byte without the clock)."""
    modes = cell.readings.each(cpu.SECONDS, "mode", node=None)
    spent = sum(seconds for (mode,), seconds in modes.items() if mode not in cpu.IDLE_MODES)
    return spent / cell.iops.value * 1e9 if spent > 0 else None
