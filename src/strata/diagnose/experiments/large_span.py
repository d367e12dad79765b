"""The same workload over all of the data.

What it changes
    A workload that stays within a part of the data, or mostly on its hot blocks, now reads every block with the same
    probability.
What it tells apart
    A figure that a cache made falls. Every cause that does not depend on the data itself keeps its IOPS.
"""

from __future__ import annotations

from strata.diagnose.case import Case
from strata.diagnose.expected import FALLS, MOST, SAME, Range, asked, station_of, told
from strata.diagnose.opinion import Opinion
from strata.diagnose.sides import CauseSide, on
from strata.model.access import Zipf, Zones
from strata.model.cause import Cause
from strata.model.experiment import Experiment

ABOUT = frozenset({Cause.CACHE_FLATTERS})
LEFT = 0.7


def propose(case: Case, standing: tuple[Opinion, ...]) -> Experiment | None:
    """Where a cache that flatters stands at a layer whose workloads are not asked for all of the data alike."""
    found = station_of(case, standing, ABOUT)
    if found is None:
        return None
    hot = [
        c
        for c in found[1].cells
        if not c.workload.rw.writes and (c.workload.range is not None or isinstance(c.workload.order, Zipf | Zones))
    ]
    cell = min(hot, key=lambda c: (c.workload.bs, -c.workload.outstanding), default=None)
    if cell is None:
        return None
    said: dict[Cause, Range] = {Cause.CACHE_FLATTERS: (FALLS, LEFT), Cause.HOLES: (FALLS, MOST)}
    said |= {o.cause: SAME for o in standing if o.cause in on(CauseSide.FULL)}
    order = None if isinstance(cell.workload.order, Zipf | Zones) else cell.workload.order
    return asked(
        cell,
        "the same reads over all of the data",
        told(standing, said, others=None),
        changed=cell.workload.model_copy(update={"range": None, "order": order}),
        otherwise="with a limit other than a cache the IOPS stay the same",
    )
