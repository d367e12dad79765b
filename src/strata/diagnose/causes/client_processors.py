"""The client's CPUs.

What it claims
    The client has too little CPU time to issue more I/O: its threads are runnable but wait for a CPU.
Why it matters
    The storage is faster than it looks from this client. Tuning the server, the wire or the disk changes nothing.
Evidence it needs
    Operational: the load generator's own threads wait for a CPU, and their waits explain 60 % of the loss. They
    wait longer than the servers' threads, and less in the same cells below. Differential: the loss.
What rules it out
    A load generator that hardly waits; servers that wait longer; the same waits below.
What to do next
    Larger requests cost it less; then fewer neighbours on the client, a higher quota, more cores.
How sure
    By the part of the loss that the waits explain.
Example
    The client may use a hundredth of a CPU: it runs for 10 ms of each second and is runnable for 900 ms more.
Source
    The kernel's scheduler statistics (Documentation/scheduler/sched-stats: time spent waiting to run).
"""

from __future__ import annotations

from strata import units
from strata.diagnose import observe, ready, rows
from strata.diagnose.case import Pair
from strata.diagnose.opinion import Opinion
from strata.model.finding import Cause

CAUSE = Cause.CLIENT_PROCESSORS
PRECEDENCE = 38
SIDES = ("full", "path")


def judge_pair(pair: Pair) -> Opinion | None:
    view, slow = pair.view, pair.view.affected
    seen = [(p, w) for p in slow if (w := ready.waiting(p.upper)) is not None]
    if not seen:
        return None
    found = ready.predicted([p for p, w in seen if w.own > w.served])
    cover = ready.explains(found, slow)
    if cover is None:
        most = max(w.own / p.n for p, w in seen)
        return Opinion(
            False,
            f"its threads wait for a CPU for at most {units.percent(most, 2)} of the time",
            strength=most,
        )
    own = max(w.own for _, w in seen)
    return observe.shown(
        view,
        [f.point for f in found],
        f"in {len(found)} of {len(slow)} slow workloads the client's threads wait for a CPU "
        f"longer than the servers' threads. {rows.said(max(found, key=lambda f: f.share * f.point.loss))}",
        title=f"the client waits for a CPU, {units.significant(own, 2)} threads at a time",
        explanation="The threads that issue the I/O are runnable but wait for a CPU: this explains "
        f"{units.percent(cover, 2)} of the loss.",
        next_step="Give the client more CPU time (fewer neighbours, more cores, a higher quota of its control "
        "group), or use larger requests; a faster server, wire or disk would not help.",
        strength=cover,
        lead=10 * cover,
        rows=found,
    )
