"""A cap on requests per second.

What it claims
    The remote end or the device completes a fixed number of requests per second, whatever their size, and adds no
    time below that rate.
Why it matters
    It is a setting (quality of service, a volume type, a control group), not a fault: have it raised, tuning does not
    help.
Evidence it needs
    Differential: X = min(uncapped IOPS, C) with one C over block sizes, patterns and depths, compared with the layer
    below or with the layer's own specification. Operational: requests wait while CPUs are idle. Without a
    specification, by the device's own shape: at least three workloads with 8 or more outstanding requests, random and
    sequential, whose block sizes differ eightfold, give the same IOPS within a tenth, and C times the time of one
    request is no whole number.
What rules it out
    Slow cells with different IOPS; any read with more IOPS than the cap, where those that were merged into one request
    at the device count once; reads of one size alone, of a device by itself; time added below the cap (then requests
    are served one at a time instead). Between layers: capped cells that are all writes which wait until they are
    durable, because commits that are processed one by one look the same. A cap that is a whole number of requests at
    once, each for its time at the layer below, is not certain until blocks that take longer have told it from a queue.
What to do next
    Look for a limit on the volume, device or export; larger blocks carry more bytes under the same cap.
How sure
    By the part of the loss that is explained, and by how much better it fits than a limit on bytes, a queue and a
    cost per request; another block size separates them. From its own shape alone never more than suspected: a medium
    with one service time for all sizes would look the same.
Example
    8 KiB and 128 KiB reads at depths 8 and 32 all give 1 000 IOPS; at depth 1 nothing is lost (500 on both).
Source
    A cap shows as equal IOPS over sizes, a bandwidth limit as equal bytes (asymptotic bounds: Denning, Buzen 1978).
    Depth 1 separates it from a lock, which adds its time to each request.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from strata import units
from strata.diagnose import blamed, few_at_once, observe, own_limits
from strata.diagnose.blamed import LimitText
from strata.diagnose.case import Case, Pair
from strata.diagnose.evidence import operational
from strata.diagnose.models import LimitDirection, LimitKind
from strata.diagnose.opinion import Opinion
from strata.diagnose.own_limits import GroundLayer, Limit
from strata.diagnose.reference import grounds, known
from strata.model.analysis import CellSummary
from strata.model.finding import Cause, Evidence

CAUSE = Cause.IOPS_CAP
PRECEDENCE = 60
SIDES = ("full", "between", "far")
predict = own_limits.of_experiment
LEAST_OUTSTANDING, LEAST_CELLS, SIZES, SPREAD, SCALES = 8, 3, 8.0, 1.1, 0.8
MOST_SERVERS, WHOLE = 8, 0.1
"""So many requests at once, within so much of a whole number, may as well be served by a queue of that many."""
NEXT_STEP = (
    "Look for a limit of requests per second on the volume, the device or its control group; larger blocks carry "
    "more bytes under the same limit."
)


def judge_pair(pair: Pair) -> Opinion:
    """At the far end of a layer, or on the layer itself where it has none."""
    view, found = pair.view, pair.shape(LimitKind.CAP)
    bound = observe.bound(view, found)
    if pair.best is not found or not pair.acceptable(found) or not bound:
        return observe.refuted(pair, LimitKind.CAP)
    if all(p.workload.durable for p in bound):
        # Seen live: a server that makes one group of writes durable after the other gave one rate for all sizes.
        same = f"all {len(bound)} wait until they are durable; commits that are processed one by one look the same"
        return Opinion(False, same)
    cap = f"{units.count(found.parameter)} IOPS"
    where = "" if found.scope is LimitDirection.BOTH else f" for {found.scope.value}"
    free = [p for p in view.points if p.key not in found.binding]
    under = f" Workloads that need fewer IOPS lose nothing ({free[0].workload.label})." if free else ""
    end = "the remote end" if view.wired else "the layer"
    missing = observe.missing_beside(bound)
    return observe.fitted(
        pair,
        found,
        bound,
        f"one cap of {cap} explains {units.percent(found.explained, 2)} of the loss; the capped "
        f"workloads give {observe.spread([p.x for p in bound], 'count')}",
        holds=None if missing else True,
        missing=missing,
        title=f"{end} is capped at {cap}{where}",
        explanation=f"{observe.stopping([p.bs for p in bound], cap)}; {view.below.name} "
        f"gives up to {units.count(max(p.x_below for p in bound))} IOPS.{under}{_or_a_queue(pair)}",
        next_step="Look for a limit on requests per second at the export, volume or tenant, and have it raised; "
        "larger blocks carry more bytes under the same limit."
        if view.wired
        else NEXT_STEP,
        lead=_lead(pair),
    )


def _or_a_queue(pair: Pair) -> str:
    """What else gives these figures, where a whole number of requests at once does."""
    queue = few_at_once.of(pair)
    if queue is None or few_at_once.lead(pair, queue, LimitKind.CAP) < -few_at_once.MAY_BE:
        return ""
    many = "One request" if queue.count == 1 else f"{queue.count} requests"
    return f" {many} served at once would look the same but for blocks that take longer."


def _lead(pair: Pair) -> float:
    """Over the next shape, and over a queue whose whole number gives these figures too."""
    queue, lead = few_at_once.of(pair), pair.lead(LimitKind.CAP)
    return lead if queue is None else min(lead, -few_at_once.lead(pair, queue, LimitKind.CAP))


def judge(case: Case) -> Iterator[Opinion]:
    """Of a device by itself: against its specification; where nothing is promised, by its own shape."""
    yield from blamed.judged(case, CAUSE, _said, _of_one_size)
    for station in grounds(case):
        if known(case, station) is None and (seen := by_shape(station.cells)) is not None:
            yield Opinion(
                None,
                "a medium that takes the same time for large and small requests would look the same",
                title=f"{station.layer.name} looks capped on IOPS",
                explanation=f"{seen.statement}.",
                next_step=NEXT_STEP,
                cells=frozenset(c.workload.key for c in _deep(station.cells)),
                strength=0.5,
                evidence=(seen,),
                missing=("expect.iops and expect.latency of the layer",),
                layer=station.layer.name,
            )


def _of_one_size(own: GroundLayer) -> tuple[str, str] | None:
    """That requests are counted, and not their bytes, is seen of two sizes only."""
    if len({h.size for h in own.cells}) > 1:
        return None
    return "reads of one block size alone are known: any limit stops them at one rate", "reads of another size"


def _said(own: GroundLayer, limit: Limit) -> LimitText:
    layer, cap = own.station.layer.name, f"{units.count(limit.parameter)} IOPS"
    held = list(own.slow)
    free = next((h for h in own.cells if h not in own.slow), None)
    spared = f"; {free.cell.workload.label} needs fewer IOPS and loses nothing" if free else ""
    return LimitText(
        title=f"{layer} is capped at {cap}",
        explanation=f"{observe.stopping([h.size for h in held], cap)}{spared}.",
        next_step=f"{NEXT_STEP} Without it, {units.count(max(h.promised for h in held))} IOPS are specified.",
        evidence=operational(
            f"the capped workloads give {observe.spread([h.measured for h in held], 'count')}, with blocks "
            f"of {units.size(round(min(h.size for h in held)))} to {units.size(round(max(h.size for h in held)))}",
            [h.cell for h in held],
        ),
    )


def _deep(cells: Sequence[CellSummary]) -> list[CellSummary]:
    return [c for c in cells if c.workload.saturates and c.workload.outstanding >= LEAST_OUTSTANDING]


def by_shape(cells: Sequence[CellSummary]) -> Evidence | None:
    """From the closed-loop cells of the lowest layer; None where their IOPS differ, or a queue would do as well."""
    deep = _deep(cells)
    sizes = [c.workload.bs_moments[0] for c in deep]
    rates = [c.iops.value for c in deep]
    if len(deep) < LEAST_CELLS or max(sizes) < SIZES * min(sizes) or max(rates) > SPREAD * min(rates):
        return None
    if len({c.workload.rw.random for c in deep}) < 2:
        return None
    alone = [(one, c) for c in deep for one in cells if _same(c, one)]
    if not alone or not all(_waits(c, one) for one, c in alone) or any(_a_queue(c, one) for one, c in alone):
        return None
    return operational(
        f"{deep[0].layer} gives {units.span(units.count(min(rates)), units.count(max(rates)))} IOPS in all "
        f"{len(deep)} deep workloads, blocks of {units.size(min(sizes))} to {units.size(max(sizes))}, random and "
        f"sequential: consistent with a cap of {units.count(float(np.median(rates)))} requests per second",
        deep,
    )


def _same(deep: CellSummary, one: CellSummary) -> bool:
    return one.workload.outstanding == 1 and deep.workload.apart_from_depth == one.workload.apart_from_depth


def _waits(deep: CellSummary, one: CellSummary) -> bool:
    """Whether requests wait for each other: with nobody to wait for, depth would multiply the IOPS."""
    return deep.iops.value < SCALES * deep.workload.outstanding * one.iops.value


def _a_queue(deep: CellSummary, one: CellSummary) -> bool:
    """Whether so many are served at once as a queue might hold (Little's law: rate times the time of one)."""
    at_once = deep.iops.value / one.iops.value
    return at_once <= MOST_SERVERS + 0.5 and abs(at_once - round(at_once)) <= WHOLE * max(1.0, round(at_once))
