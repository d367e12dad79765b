"""A remote end that stores in memory.

What it changes
    The same writes go to Strata's own server on the remote node, which keeps them in memory until the experiment ends.
    The path is the same.
What it tells apart
    If the path or the client is the limit, the IOPS stay the same. The time of the server, its flushes and its medium
    is gone. For reads a remote end that stores nothing tells the same.
"""

from __future__ import annotations

from strata.diagnose.case import Case, Station
from strata.diagnose.expected import asked
from strata.diagnose.experiments.null_end import expected_of, far_node_is_here
from strata.diagnose.opinion import Opinion
from strata.diagnose.sides import CauseSide, on
from strata.model.analysis import CellSummary
from strata.model.experiment import Condition, Experiment

SIDES = ("path", "far")


def propose(case: Case, standing: tuple[Opinion, ...]) -> Experiment | None:
    """At a remote layer whose far node is a namespace of this machine, where one cause of either side stands and
    explains writes."""
    kinds = {o.cause for o in standing}
    if not kinds & on(CauseSide.PATH) or not kinds & on(CauseSide.FAR):
        return None
    opinion = next(o for o in standing if o.cause in on(CauseSide.PATH))
    station = case.station(opinion.layer)
    if station is None or not far_node_is_here(case.stack, station):
        return None
    cell = _write(station, opinion)
    if cell is None:
        return None
    return asked(
        cell,
        "the same writes to a remote end that stores in memory",
        expected_of(standing, cell),
        condition=Condition.MEMORY_END,
        otherwise="with a limit in the server or its medium the IOPS rise",
    )


def _write(station: Station, opinion: Opinion) -> CellSummary | None:
    """Small random writes, several at once, of those that the cause explains."""
    writes = [
        c
        for c in station.cells
        if c.workload.key in opinion.cells
        and c.workload.saturates
        and c.workload.rw.carries
        and not c.workload.rw.reads
        and c.workload.range is None
    ]
    return min(
        writes,
        key=lambda c: (not c.workload.rw.random, c.workload.outstanding == 1, c.workload.bs, -c.workload.outstanding),
        default=None,
    )
