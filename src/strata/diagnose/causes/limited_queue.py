"""Only a fixed number of requests is served at once.

What it claims
    The layer serves k requests at a time: a single request is as fast as ever, several wait for each other.
Why it matters
    More depth gains nothing, although the medium is not saturated. Raise or remove a queue depth, a lock or a single
    submission path; a faster medium would help only in part.
Evidence it needs
    Differential: the specified time at depth 1, at most k ÷ time at greater depths, with one whole k for every block
    size and every depth beyond it. Operational: requests spend the rest of their time waiting.
What rules it out
    A slower request at depth 1 (then the medium is slow); equal IOPS for small and large blocks (then it is a cap).
What to do next
    Look for a configured queue depth (``queue_depth``, ``nr_requests``, a driver's or a target's), then for a lock.
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
from strata.diagnose import blamed, own_limits
from strata.diagnose.blamed import LimitText
from strata.diagnose.case import Case
from strata.diagnose.evidence import operational
from strata.diagnose.opinion import Opinion
from strata.diagnose.own_limits import GroundLayer, Limit
from strata.model.finding import Cause

CAUSE = Cause.LIMITED_QUEUE
PRECEDENCE = 46
SIDES = ("full", "between", "far")
predict = own_limits.of_experiment


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
