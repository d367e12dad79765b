"""The same writes, each made durable.

What it changes
    Writes that nothing waits for are now written through (``sync=dsync``): each one waits until the medium has made it
    durable.
What it tells apart
    If flushes are slow, each write takes the time of a flush longer, as it was measured in other workloads. A slow
    medium or a full write cache takes as long as before: the writes waited for it already.
"""

from __future__ import annotations

from strata.diagnose import flushing
from strata.diagnose.case import Case, Station
from strata.diagnose.expected import FALLS, asked, told
from strata.diagnose.flushing import Flushed
from strata.diagnose.opinion import Opinion
from strata.model.analysis import CellSummary
from strata.model.cause import Cause
from strata.model.experiment import Experiment
from strata.model.workload import Sync

ABOUT = frozenset({Cause.SLOW_FLUSH})

OFF = 1.5
"""What the time of a flush may be off in another workload, as a factor to either side."""
WAITED = (0.6, 1.25)
"""Times the IOPS of writes that wait for the medium as they are: its own flush has nothing left to write."""
CAPPED = (0.4, 1.25)
"""Of a limit on requests: a flush may count as one."""


def propose(case: Case, standing: tuple[Opinion, ...]) -> Experiment | None:
    """Where slow flushes stand, at the layer whose flushes were timed: its writes without one that have the fewest
    outstanding."""
    mine = next((o for o in standing if o.cause in ABOUT), None)
    found = None if mine is None else flushing.blamed(case, mine)
    if found is None:
        return None
    station, timed = found
    plain = [c for c in station.cells if _waits_for_nothing(c)]
    cell = min(plain, key=lambda c: (c.workload.outstanding, c.workload.bs), default=None)
    return None if cell is None else _made(station, cell, timed, standing)


def _waits_for_nothing(cell: CellSummary) -> bool:
    w = cell.workload
    return w.rw.carries and not w.rw.reads and not w.durable and w.saturates and w.direct and cell.iops.value > 0


def _made(
    station: Station, cell: CellSummary, timed: tuple[Flushed, ...], standing: tuple[Opinion, ...]
) -> Experiment | None:
    """Each slot waits for its own flush; one of the device may make several writes durable, but no write waits less."""
    near = min(timed, key=lambda f: (abs(f.cell.workload.outstanding - cell.workload.outstanding), f.flush))
    alone = cell.workload.outstanding / cell.iops.value
    left = alone / (alone + near.flush)
    said = {
        # A write that takes thousands of times as long falls by however much, and no less.
        Cause.SLOW_FLUSH: (max(FALLS, left / OFF / 2), min(0.9, max(2 * FALLS, left * OFF))),
        Cause.WRITE_CACHE_FULL: WAITED,
        Cause.SLOW_MEDIUM: WAITED,
        Cause.MEDIUM: WAITED,
        Cause.IOPS_CAP: CAPPED,
    }
    return asked(
        cell,
        "the same writes, each made durable,",
        told(standing, said, others=None),
        layer=station.layer.name,
        changed=cell.workload.model_copy(update={"sync": Sync.DSYNC}),
        otherwise="writes that wait for the medium already take as long as before",
    )
