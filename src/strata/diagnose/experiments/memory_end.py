"""A remote end that stores in memory.

What it changes
    The same writes go to Strata's own server on the remote node, which keeps them in memory until the experiment ends.
    The path is the same.
What it tells apart
    If the path or the client is the limit, the IOPS stay the same. The time of the server, its flushes and its medium
    is gone. For reads a remote end that stores nothing tells the same.
"""

from __future__ import annotations

from strata.diagnose import far_end
from strata.diagnose.case import Case, Station
from strata.diagnose.opinion import Opinion
from strata.model.analysis import CellSummary
from strata.model.experiment import Condition, Experiment

SIDES = ("path", "far")


def propose(case: Case, standing: tuple[Opinion, ...]) -> Experiment | None:
    """Where the cause on the path explains writes."""
    changes = "the same writes to a remote end that stores in memory"
    return far_end.replaced(case, standing, _write, changes, Condition.MEMORY_END)


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
