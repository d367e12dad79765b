"""A CPU quota.

What it claims
    A control group lets a server of this layer run only part of the time; the CPUs themselves may be idle.
Why it matters
    The machine looks idle while the server is throttled. It is a setting of a container, slice or virtual machine,
    and raising it costs nothing.
Evidence it needs
    Operational: in slow cells with 60 % of the loss, a group with a process of the path was throttled in at least
    half of its periods, and in the same cells below in at most half as many. Differential: the loss.
What rules it out
    No group with a quota; a quota that is never used up.
What to do next
    Raise the quota (CPUQuota=, cpu.max, limits.cpu), then measure again.
How sure
    By the share of the loss in such cells, and by how often the group was throttled.
Example
    The server may use a twentieth of a CPU: sequential reads of 128 KiB fall from 6 592 to 391 IOPS, and it is
    throttled in all of its periods.
Source
    The kernel's cgroup documentation (cpu.stat: nr_periods, nr_throttled).
"""

from __future__ import annotations

import numpy as np

from strata import units
from strata.diagnose import observe, ready
from strata.diagnose.case import Pair
from strata.diagnose.opinion import Opinion
from strata.diagnose.view import Point
from strata.model.finding import Cause
from strata.model.resources import Quota

CAUSE = Cause.QUOTA
PRECEDENCE = 20
SIDES = ("full", "far")
LEAST_HELD, MORE_THAN_BELOW, LEAST_COVER = 0.5, 2.0, 0.6


def judge_pair(pair: Pair) -> Opinion:
    view, slow = pair.view, pair.view.affected
    known = [(p, q) for p in slow if (q := next((q for q in p.upper.resources.quotas if not q.own), None)) is not None]
    if not known:
        return Opinion(None, "no visible process of the path has a CPU quota")
    held = [(p, q) for p, q in known if q.share >= LEAST_HELD and _below(p, q) * MORE_THAN_BELOW <= q.share]
    cover = sum(p.loss for p, _ in held) / sum(p.loss for p in slow)
    if cover < LEAST_COVER:
        most = max((q for _, q in known), key=lambda q: q.share)
        why = f"the quota of {most.where} is used up in at most {units.percent(most.share, 2)} of its periods"
        return Opinion(False, why, strength=most.share)
    points = [p for p, _ in held]
    share = float(np.median([q.share for _, q in held]))
    one = held[0][1]
    return observe.shown(
        view,
        points,
        f"in {len(held)} of {len(slow)} slow workloads {one.where} is throttled in "
        f"{units.percent(share, 2)} of the periods of its group (median); with the same workloads on "
        f"{view.below.name} in {units.percent(float(np.median([_below(p, q) for p, q in held])), 2)}",
        title=f"a CPU quota throttles {one.where}",
        explanation=f"The control group {one.group} used up its quota in {units.percent(share, 2)} of its periods; "
        "it is stopped until the next period.",
        next_step="Raise the quota of that group (CPUQuota=, cpu.max, a container's limit); more depth gains nothing.",
        strength=cover,
        rows=ready.predicted(points),
        lead=10 * min(1.0, share / 0.9),
    )


def _below(point: Point, quota: Quota) -> float:
    """How often the same group was held back in the cell below; 0 where it did nothing there."""
    return next((q.share for q in point.lower.resources.quotas if (q.node, q.group) == (quota.node, quota.group)), 0.0)
