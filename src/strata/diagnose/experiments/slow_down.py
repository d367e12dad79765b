"""The remote end a little slower.

What it changes
    A server that Strata started itself makes each request take half of its time longer. Servers of others are not
    touched.
What it tells apart
    Throughput follows the slow-down only at the limit. Where something else is saturated, requests wait less for it
    and the IOPS stay the same; where each request takes a fixed time, they fall by a third.
"""

from __future__ import annotations

from strata.diagnose.case import Case, Station
from strata.diagnose.expected import Range, asked, told
from strata.diagnose.models import LimitKind
from strata.diagnose.opinion import Opinion
from strata.diagnose.sides import CauseSide, on
from strata.model.analysis import CellSummary
from strata.model.cause import Cause
from strata.model.endpoint import own_export
from strata.model.experiment import Condition, Experiment

SIDES = ("full", "wait")

ADDED = 0.5
"""Of the time of a request."""
FOLLOWS, STAYS = (0.55, 0.8), (0.87, 1.15)
DEPTH = (4, 12)
"""A few at once: more would queue at the server's own threads, and of one alone nothing is hidden."""
HIDDEN = 2.0
"""Times the time of a request by itself that one takes in a queue, at least, so that the rest hides what is added."""
UNTOLD = frozenset({Cause.MEDIUM, Cause.LIMITED_QUEUE, Cause.SINGLE_THREAD})
"""They may be what is slowed, or lie behind it."""


def propose(case: Case, standing: tuple[Opinion, ...]) -> Experiment | None:
    """At a layer whose server is ours, where the favourite is something full or a time of each request's own."""
    station = case.station(standing[0].layer) if standing else None
    cell = None if station is None or not _ours(station) else _queued(station, standing[0])
    if station is None or cell is None:
        return None
    said: dict[Cause, Range] = {}
    for opinion in standing:
        if opinion.model is not None and opinion.model.shape is LimitKind.DELAY:
            said[opinion.cause] = FOLLOWS
        elif opinion.cause in on(CauseSide.FULL) - UNTOLD and cell.workload.key in opinion.cells:
            said[opinion.cause] = STAYS
    return asked(
        cell,
        "half of a request's time added at the remote end",
        told(standing, said, others=None),
        condition=Condition.SLOWED,
        added_ns=ADDED * cell.workload.outstanding / cell.iops.value * 1e9,
        otherwise="where something else is saturated the IOPS stay the same",
    )


def _ours(station: Station) -> bool:
    """Only a server that Strata itself starts can be slowed down."""
    return own_export(station.layer.endpoint) is not None


def _queued(station: Station, opinion: Opinion) -> CellSummary | None:
    """A cell of the cause in which requests wait for each other, reads before writes."""
    found = []
    for cell in station.cells:
        n, least = cell.workload.outstanding, DEPTH[0]
        if cell.workload.key not in opinion.cells or not cell.workload.saturates or not least <= n <= DEPTH[1]:
            continue
        alone = _alone(station, cell)
        if alone is not None and n / cell.iops.value >= HIDDEN * alone:
            found.append(cell)
    return min(found, key=lambda c: c.workload.rw.writes, default=None)


def _alone(station: Station, cell: CellSummary) -> float | None:
    """Seconds of one request by itself: of this pattern, else of any other of at most its size."""
    size = cell.workload.bs_moments[0]
    ones = [c for c in station.cells if c.workload.outstanding == 1 and c.workload.bs_moments[0] <= size]
    same = [c for c in ones if c.workload.apart_from_depth == cell.workload.apart_from_depth]
    return max((1 / c.iops.value for c in same or ones), default=None)
