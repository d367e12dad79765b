"""Only a fixed number of requests is served at once.

What it claims
    The layer serves k requests at a time: a single request is as fast as ever, several wait for each other.
Why it matters
    More depth gains nothing, although the medium is not saturated. Raise or remove a queue depth, a number of threads,
    a lock or a single submission path; a faster medium would help only in part.
Evidence it needs
    Differential: the specified time at depth 1, at most k ÷ time at greater depths, with one whole k for every block
    size and every depth beyond it. Over a layer below, with its times: one whole k of at most 8, and fewer than are
    served at once below, puts no row above k ÷ the time below and none under k ÷ the time here, in two rows or more.
    Operational: requests spend the rest of their time waiting.
What rules it out
    A slower request at depth 1 (then the medium is slow); equal IOPS for small and large blocks that take unequal
    times (then it is a cap); a figure that no whole number gives. Where all requests take the same time, a cap of k ÷
    time looks the same, and neither is certain.
What to do next
    Look for a configured queue depth (``queue_depth``, ``nr_requests``, a driver's or a target's), for the threads of
    a server, then for a lock.
How sure
    By the part of the loss that is explained, and by how much better it fits than a cap; another block size separates
    them.
Example
    One read takes 2.5 ms as specified; at depths 8 and 32 it gives 400 IOPS instead of 1 640: one at a time.
Source
    Asymptotic bounds of a closed system (Denning, Buzen 1978): X ≤ k ÷ S.
"""

from __future__ import annotations

from collections.abc import Iterator

from strata import units
from strata.diagnose import blamed, few_at_once, observe, own_limits
from strata.diagnose.blamed import LimitText
from strata.diagnose.case import Case, Pair
from strata.diagnose.evidence import differential, operational
from strata.diagnose.opinion import Opinion
from strata.diagnose.own_limits import GroundLayer, Limit, Range
from strata.model.experiment import Experiment
from strata.model.finding import Cause

CAUSE = Cause.LIMITED_QUEUE
PRECEDENCE = 46
SIDES = ("full", "between", "far")
CLEAR = 2.0
"""How much better than a cap the queue has to fit, in the units of `Fit.total`, before it is told. Of a cap of
1,150 a second in noise of 10 %, the queue of two that is nearest to it fits better by this in one simulation of 30."""


def judge_pair(pair: Pair) -> Opinion | None:
    """Over the layer below; None where no whole number does. Nearly as good as a cap it may be so."""
    queue = few_at_once.of(pair)
    if queue is None:
        return None
    lead = few_at_once.lead(pair, queue)
    if lead < -few_at_once.MAY_BE:
        return Opinion(False, f"{observe.parameter(pair.best)} fits the figures better", strength=queue.explained)
    view, many = pair.view, f"{queue.count} request{'s' * (queue.count > 1)}"
    held = [r for r in queue.rows if r.point.key in queue.binding]
    slow = min(held, key=lambda r: (r.point.workload.rw.writes, r.point.ratio_log)).point
    told = few_at_once.served(view, writes=slow.workload.rw.writes)
    most = units.significant(told.at_once, 2) if told is not None else "more"
    return Opinion(
        holds=True if lead > CLEAR else None,
        because="" if lead > CLEAR else "a cap on requests explains the figures no worse",
        title=f"{view.layer.name} serves {many} at once",
        explanation=f"{view.layer.name} serves {many} at once, where {view.below.name} serves {most}. A request alone "
        "is hardly slower; the others wait for their turn.",
        next_step="Look for the number of the server's threads, a configured queue depth (queue_depth, nr_requests), "
        "then for a lock; more requests at once gain nothing.",
        cells=frozenset(r.point.key for r in queue.rows if r.point.above),
        strength=queue.explained,
        lead=lead,
        evidence=(
            observe.slower(view),
            differential(
                f"{many} at once, each for its time at {view.below.name}, explain "
                f"{units.percent(queue.explained, 2)} of the loss",
                observe.cells(view, [r.point for r in held]),
            ),
            *observe.waits_above(view, view.affected),
        ),
        missing=() if lead > CLEAR else ("blocks that take longer: a cap on requests gives as many of these",),
        rows=tuple(r.row(view) for r in queue.rows if r.point.above),
    )


def predict(case: Case, opinion: Opinion, experiment: Experiment) -> Range | None:
    """Of a layer by itself what its specification says, over another what is let through."""
    own = own_limits.of_experiment(case, opinion, experiment)
    return own if own is not None else few_at_once.of_experiment(case, opinion.layer, experiment)


def judge(case: Case) -> Iterator[Opinion]:
    """See the module. How many it should serve at once must be known: latency and IOPS of the specification."""
    return blamed.judged(case, CAUSE, _said, _unknown)


def _unknown(own: GroundLayer) -> tuple[str, str] | None:
    if blamed.alone(own) is not None and own.known.servers is not None:
        return None
    return "how many requests it should serve at once is not known", "expect.latency and expect.iops of the layer"


def _said(own: GroundLayer, limit: Limit) -> LimitText:
    layer, deep, one = own.station.layer.name, blamed.deepest(own), blamed.alone(own)
    k = round(limit.parameter)
    at_once = f"{k} request{'s' * (k > 1)} at once"
    should = f" instead of {units.significant(own.known.servers, 2)}" if own.known.servers else ""
    waits = max(0.0, deep.depth - k)
    time = "" if one is None else f" One read at a time takes {units.duration(1e9 / one.measured)}, as specified."
    return LimitText(
        title=f"{layer} serves {at_once}",
        explanation=f"{layer} serves {at_once}{should}.{time} The others wait.",
        next_step="Look for a configured queue depth (queue_depth, nr_requests, the target's own), then for a lock; "
        f"without the limit, {units.count(deep.promised)} IOPS are specified at depth {deep.depth}.",
        evidence=operational(
            f"{deep.cell.workload.label}: {units.count(deep.measured)} IOPS are {k} ÷ the time of one "
            f"read, so about {units.significant(waits, 2)} of {deep.depth} requests wait",
            [deep.cell],
        ),
    )
