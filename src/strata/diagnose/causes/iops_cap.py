"""A cap at the remote end.

What it claims
    The far end admits so many requests per second, whatever their size, and adds nothing below that.
Why it matters
    It is a setting (quality of service, a volume type), not a fault: it is changed by asking, not by tuning.
Evidence it needs
    Differential: X = min(X_below, C) with one C over block sizes, patterns and depths. Operational: requests wait
    above the layer below while processors idle.
What rules it out
    Slow cells with different IOPS; time added below the cap (then requests are served one at a time instead).
What to do next
    Look for the limit of the volume or export; larger blocks carry more bytes under the same cap.
How sure
    By the part of the loss explained and the distance to bandwidth and to a cost for each request.
Example
    8 KiB and 128 KiB reads at depths 8 and 32 all give 1 000 IOPS; at depth 1 nothing is lost (500 on both).
Source
    Denning, Buzen 1978 (asymptotic bounds): depth 1 separates a lock, which adds 1/C, from a cap, which adds 0.
"""

from __future__ import annotations

from strata import units
from strata.diagnose import experiment, observe
from strata.diagnose.case import Pair
from strata.diagnose.models import Scope, Shape
from strata.diagnose.opinion import Opinion
from strata.model.finding import Cause, Evidence, EvidenceKind

CAUSE = Cause.IOPS_CAP
PRECEDENCE = 60


def judge_pair(pair: Pair) -> Opinion:
    """See the module."""
    view, found = pair.view, pair.shape(Shape.CAP)
    slow = view.affected
    if not view.wired:
        return Opinion(CAUSE, False, "this layer has no remote end")
    if pair.best is not found or not pair.acceptable(found):
        return Opinion(CAUSE, False, observe.refuted(pair, Shape.CAP))
    bound = [p for p in view.points if p.key in found.binding]
    cap = f"{units.count(found.parameter)} IOPS"
    where = "" if found.scope is Scope.BOTH else f" for {found.scope.value}"
    free = [p for p in view.points if p.key not in found.binding]
    under = f" Workloads that ask for less lose nothing ({free[0].workload.label})." if free else ""
    return Opinion(
        cause=CAUSE,
        holds=True,
        model=found,
        because="",
        title=f"the remote end admits no more than {cap}{where}",
        explanation=f"{len(bound)} workloads stop at the same {cap} whatever their block size; "
        f"{view.below.name} gives up to {units.count(max(p.x_below for p in bound))} IOPS.{under}",
        next_step="Look for a limit on requests per second at the export, volume or tenant, and have it raised; "
        "larger blocks carry more bytes under it.",
        cells=found.binding | {p.key for p in slow if abs(found.residual[p.key]) <= 2.5},
        strength=found.explained,
        lead=pair.lead(Shape.CAP),
        evidence=(
            observe.slower(view),
            Evidence(
                kind=EvidenceKind.DIFFERENTIAL,
                statement=f"one cap of {cap} explains {units.percent(found.explained, 2)} of the loss; "
                f"the capped cells give {observe.spread([p.x for p in bound], 'count')}",
                cells=observe.cells(view, bound),
            ),
            *observe.operational(view, slow),
        ),
        experiment=experiment.cap(pair, found),
    )
