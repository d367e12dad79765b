"""The same workload, shifted by a sector.

What it changes
    Every read is moved by the offset that aligns it to a block boundary of the medium.
What it tells apart
    If requests are misaligned, it gains an eighth or more. Under every other limit the IOPS stay the same, or fall
    where the medium was aligned before.
"""

from __future__ import annotations

from strata import units
from strata.diagnose.case import Case, Station
from strata.diagnose.causes import misaligned
from strata.diagnose.expected import asked, told
from strata.diagnose.opinion import Opinion
from strata.model.analysis import CellSummary
from strata.model.cause import Cause
from strata.model.experiment import Experiment

ABOUT = frozenset({Cause.MISALIGNED})

LEAST, MOST = 0.2, 20.0
"""Times the IOPS: what a shift may cost where it was aligned before, and what it may gain where it was not."""


def propose(case: Case, standing: tuple[Opinion, ...]) -> Experiment | None:
    """At the lowest layer, where a beginning lies off a boundary."""
    station = case.stations[0] if case.stations else None
    fact = misaligned.shift_of(case)
    if station is None or fact is None or not any(o.cause in ABOUT for o in standing):
        return None
    cell, shift = _deepest_read(station), fact[1]
    if cell is None or shift >= cell.workload.bs or cell.workload.misalign:
        return None
    return asked(
        cell,
        f"the same reads shifted by {units.size(shift)}",
        told(standing, {Cause.MISALIGNED: (misaligned.GAINS, MOST)}, others=(LEAST, 1.1)),
        changed=cell.workload.model_copy(update={"misalign": shift}),
        otherwise="with any other limit the IOPS stay the same or fall",
    )


def _deepest_read(station: Station) -> CellSummary | None:
    reads = [c for c in station.cells if c.workload.rw.random and not c.workload.rw.writes]
    small = [c for c in reads if c.workload.outstanding > 1]
    return min(small, key=lambda c: (c.workload.bs, c.workload.outstanding), default=None)
