"""Slow, and no known cause explains it.

What it claims
    The layer costs more than expected, and none of the known causes accounts for it.
Why it matters
    A wrong cause costs more than none. The layer is still found, and the set of slow patterns is a fingerprint.
Evidence it needs
    Differential: the equivalence test. Operational: requests wait above the layer below.
What rules it out
    Any cause that holds.
What to do next
    By the fingerprint. Only sequential writes or reads are slow: check the order at the device. Only writes are slow:
    flushes and write-through. Everything is slow by the same factor: CPUs of the remote end, extra copies of
    the data.
How sure
    Of the layer as of any other; of the cause not at all, so never above 0.5.
Example
    Sequential writes fall to 5 % and nothing else changes: two threads issue them out of order.
Source
    Microsoft, Cluster Shared Volume: a systematic approach to finding bottlenecks (trace the I/O where the numbers do
    not explain themselves).
"""

from __future__ import annotations

from strata import units
from strata.diagnose import observe
from strata.diagnose.case import Pair
from strata.diagnose.evidence import differential
from strata.diagnose.models import LimitKind
from strata.diagnose.opinion import Opinion
from strata.diagnose.own_limits import GroundLayer
from strata.diagnose.trying import outcome
from strata.model.finding import Cause, Evidence

CAUSE = Cause.UNEXPLAINED
PRECEDENCE = 99
EXPERIMENT = "once-more"


def measured_again(pair: Pair) -> dict[str, bool | None]:
    """Of the pair's workloads that were measured once more beside the layer below, by key: whether each was as slow."""
    names = pair.view.layer.name, pair.view.below.name
    mine = (t for t in pair.case.outcomes(EXPERIMENT) if (t.experiment.layer, t.experiment.reference_layer) == names)
    return {t.experiment.reference: outcome(t).holds for t in mine}


def fingerprint(pair: Pair) -> tuple[str, str]:
    """(what the slow patterns have in common, what to look at first)."""
    slow = pair.view.affected
    fine = [p for p in pair.view.points if not p.above]
    found = pair.best
    if pair.acceptable(found) and not pair.view.wired and found.shape in (LimitKind.BANDWIDTH, LimitKind.CAP):
        limit = (
            units.rate(found.parameter)
            if found.shape is LimitKind.BANDWIDTH
            else f"{units.count(found.parameter)} IOPS"
        )
        return (
            f"the slow workloads share a limit of {limit}",
            "Look for a limit set on this layer (a control group, a mapper).",
        )
    if fine and all(not p.workload.rw.random for p in slow) and all(p.workload.rw.random for p in fine):
        return "only sequential workloads are slow", "Trace the order in which requests reach the device (--trace)."
    if fine and all(p.workload.rw.writes and not p.workload.rw.random for p in slow):
        return "only sequential writes are slow", "Trace the order in which writes reach the device (--trace)."
    if fine and all(p.workload.rw.writes for p in slow) and all(not p.workload.rw.writes for p in fine):
        return "only writes are slow", "Check flushes, write-through and copies of the data."
    if fine and all(not p.workload.rw.writes for p in slow) and all(p.workload.rw.writes for p in fine):
        return "only reads are slow", "Check read-ahead, caches and the read path."
    return (
        f"in {len(slow)} of {units.plural(len(pair.view.points), 'workload')}",
        "Trace one slow workload through the layer.",
    )


def judge_pair(pair: Pair) -> Opinion:
    """See the module. Its holding is decided by the absence of others."""
    view, slow = pair.view, pair.view.affected
    pattern, step = fingerprint(pair)
    covered = observe.waterfall(view, slow)
    return Opinion(
        cause=CAUSE,
        because="a known cause that explains it",
        title=f"slower than expected, cause not known: {pattern}",
        explanation=f"No known limit explains the loss from {view.below.name}. The worst workload is "
        f"{slow[0].workload.label}: {units.count(slow[0].x)} IOPS, and {view.below.name} gives "
        f"{units.count(slow[0].x_below)}.",
        next_step=step,
        cells=frozenset(p.key for p in slow),
        strength=0.66,
        lead=2.0,
        evidence=(observe.slower(view), *((covered,) if covered else ())),
        missing=("a trace of the requests at both layers", "counters of the remote end"),
    )


def of_medium(own: GroundLayer) -> Opinion:
    """Of a layer that is slower than is promised of it."""
    layer, worst = own.station.layer.name, own.slow[0]
    return Opinion(
        cause=CAUSE,
        because="a known cause that explains it",
        title=f"slower than {own.known.source}, cause not known",
        explanation=f"No single known limit explains the difference between {layer} and {own.known.source}. The "
        f"worst workload is {worst.cell.workload.label}: {units.count(worst.measured)} IOPS, expected are "
        f"{units.count(worst.promised)}.",
        next_step="Check the device's health and settings, and that the specification belongs to this device.",
        cells=frozenset(h.key for h in own.slow),
        strength=0.5,
        evidence=(below_promise(own),),
        missing=("a cause that explains every depth and block size",),
        layer=layer,
        loss=own.loss,
    )


def below_promise(own: GroundLayer) -> Evidence:
    """How many workloads are slower than promised, and the worst of them."""
    worst = own.slow[0]
    return differential(
        f"{len(own.slow)} of {units.plural(len(own.cells), 'workload')} gave less than {own.known.source}; the worst "
        f"is {worst.cell.workload.label}: {units.count(worst.measured)} IOPS, expected are "
        f"{units.count(worst.promised)}",
        [h.cell for h in own.slow],
    )
