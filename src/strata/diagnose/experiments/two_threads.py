"""Two threads on the layer below.

What it changes
    The stream of a sequential workload is split between two threads, each of which takes every other block; as many
    requests are outstanding as before. It runs on the layer below the one that is blamed.
What it tells apart
    If reordering is the cause, the layer below becomes as slow as the layer itself, through the order alone. With
    every other cause the layer below stays as it was.
"""

from __future__ import annotations

import math

from strata.diagnose.case import Case, Pair
from strata.diagnose.causes import reordering
from strata.diagnose.expected import asked, told
from strata.diagnose.opinion import Opinion
from strata.model.access import Strided
from strata.model.cause import Cause
from strata.model.endpoint import EndpointKind
from strata.model.experiment import Experiment
from strata.model.workload import ClosedLoop, Workload

ABOUT = frozenset({Cause.REORDERING})

LEAST_PART, MOST_PART = 0.3, 3.0
"""Of the loss that reordering has to explain: what two threads of ours bring about, which deal less or more unevenly
than the layer's own dispatchers. At most all order is lost: a stream that relays had slowed to 0.65 fell to 0.17 by two
threads on a rotating medium."""
SAME = (0.8, 1.3)


def propose(case: Case, standing: tuple[Opinion, ...]) -> Experiment | None:
    """Where reordering stands, on the nearest layer below that may be driven in the workload's direction."""
    blamed = {o.layer for o in standing if o.cause in ABOUT}
    for pair in (p for p in case.pairs if p.view.layer.name in blamed):
        found = [(extra, p) for p in pair.view.affected if (extra := reordering.excess(pair, p)) is not None]
        for extra, point in sorted(found, key=lambda one: -one[0]):
            if _drivable(pair, point.workload) and (dealt := _dealt(point.workload)) is not None:
                least = min(math.exp(-MOST_PART * extra), reordering.random_part(pair, point))
                part = least, math.exp(-LEAST_PART * extra)
                return asked(
                    point.lower,
                    f"two threads on {pair.view.below.name}",
                    told(standing, {Cause.REORDERING: part}, others=SAME),
                    changed=dealt,
                )
    return None


def _drivable(pair: Pair, workload: Workload) -> bool:
    """A raw device is only read."""
    return not workload.rw.writes or pair.view.below.target.kind is not EndpointKind.BLOCK


def _dealt(workload: Workload) -> Workload | None:
    if not isinstance(workload.arrival, ClosedLoop) or workload.threads > 1 or workload.arrival.iodepth < 2:
        return None
    arrival = workload.arrival.model_copy(update={"iodepth": workload.arrival.iodepth // 2})
    order = Strided(stride=2 * workload.bs, thread_offset=workload.bs)
    return workload.model_copy(update={"threads": 2, "arrival": arrival, "order": order})
