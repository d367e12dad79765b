"""So many requests are served at once, and no more.

What it claims
    The layer serves k requests at a time: alone a request is as fast as ever, together they wait for each other.
Why it matters
    Deep queues gain nothing, and the medium is not used up. A queue depth, a lock or a single submission path is
    raised or removed; a faster medium would help only in part.
Evidence it needs
    Differential: at depth 1 the promised time, at depth k ÷ time and no more, with one whole k for every size of block
    and the depths beyond it. Operational: requests spend the rest of their time waiting.
What rules it out
    A slower request at depth 1 (then the medium is slow); equal IOPS for small and large blocks (then a cap is).
What to do next
    Look for a queue depth that was set (``queue_depth``, ``nr_requests``, a driver's or a target's), then for a lock.
How sure
    By the part of the loss explained and the distance to a cap, from which another block size separates it.
Example
    One read takes 2.5 ms as specified; at depth 8 and 32 it gives 400 IOPS instead of 1 640: one at a time.
Source
    Asymptotic bounds of a closed system (Denning, Buzen 1978): X ≤ k ÷ S.
"""

from __future__ import annotations

from collections.abc import Iterator

from strata import units
from strata.diagnose import blamed, own_limits
from strata.diagnose.blamed import Said
from strata.diagnose.case import Case
from strata.diagnose.opinion import Opinion
from strata.diagnose.own_limits import Limit, Own
from strata.diagnose.registry import Range
from strata.model.experiment import Experiment
from strata.model.finding import Cause, Evidence, EvidenceKind

CAUSE = Cause.LIMITED_QUEUE
PRECEDENCE = 46


def judge(case: Case) -> Iterator[Opinion]:
    """See the module. How many it should serve at once must be known: latency and IOPS of the specification."""
    for one in blamed.judged(case, CAUSE, _said):
        own = own_limits.of(case, one.layer)
        if one.holds is not False and own is not None and (blamed.alone(own) is None or own.known.servers is None):
            yield Opinion(
                CAUSE,
                None,
                "how many requests it should serve at once is not known",
                missing=("expect.latency and expect.iops of the layer",),
                layer=one.layer,
            )
        else:
            yield one


def predict(case: Case, opinion: Opinion, experiment: Experiment) -> Range | None:
    """Of another read of the same layer."""
    return own_limits.of_experiment(case, opinion, experiment)


def _said(own: Own, limit: Limit) -> Said:
    layer, deep, one = own.station.layer.name, blamed.deepest(own), blamed.alone(own)
    k = round(limit.parameter)
    at_once = f"{k} request{'s' * (k > 1)} at once"
    should = f" instead of {units.significant(own.known.servers, 2)}" if own.known.servers else ""
    waits = max(0.0, deep.depth - k)
    time = "" if one is None else f" One at a time a read takes {units.duration(1e9 / one.measured)}, as promised."
    return Said(
        title=f"{layer} serves {at_once}",
        explanation=f"{layer} serves {at_once}{should}.{time} The others wait.",
        next_step="Look for a queue depth that was set (queue_depth, nr_requests, the target's own), then for a lock; "
        f"without it {units.count(deep.promised)} IOPS are promised at depth {deep.depth}.",
        evidence=Evidence(
            kind=EvidenceKind.OPERATIONAL,
            statement=f"{deep.cell.workload.label}: {units.count(deep.measured)} IOPS are {k} ÷ the time of one read, "
            f"so about {units.significant(waits, 2)} of {deep.depth} requests wait",
            cells=(f"{layer}/{deep.key}",),
        ),
    )
