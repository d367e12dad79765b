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
from strata.diagnose.opinion import Opinion
from strata.model.cause import Cause
from strata.model.experiment import Experiment, Metric, Prediction
from strata.model.workload import Workload

LEAST, MOST = 0.2, 20.0
"""Times the IOPS: what a shift may cost where it was aligned before, and what it may gain where it was not."""


def propose(case: Case, standing: tuple[Opinion, ...]) -> Experiment | None:
    """At the lowest layer, where a beginning lies off a boundary."""
    station = case.stations[0] if case.stations else None
    fact = misaligned.shift_of(case)
    if station is None or fact is None or not any(o.cause is Cause.MISALIGNED for o in standing):
        return None
    cell, shift = _deepest_read(station), fact[1]
    if cell is None or shift >= cell.bs or cell.misalign:
        return None
    known = [_prediction(o, station.layer.name) for o in standing]
    return Experiment(
        layer=station.layer.name,
        workload=cell.model_copy(update={"misalign": shift}),
        reference=cell.key,
        changes=f"the same reads shifted by {units.size(shift)}",
        prediction=known[0],
        predictions=tuple(known),
        otherwise="with any other limit the IOPS stay the same or fall",
    )


def _deepest_read(station: Station) -> Workload | None:
    small = [
        c.workload
        for c in station.cells
        if c.workload.rw.random and not c.workload.rw.writes and c.workload.outstanding > 1
    ]
    return min(small, key=lambda w: (w.bs, w.outstanding), default=None)


def _prediction(opinion: Opinion, layer: str) -> Prediction:
    gains = opinion.cause is Cause.MISALIGNED
    return Prediction(
        metric=Metric.RATIO,
        low=misaligned.GAINS if gains else LEAST,
        high=MOST if gains else 1.1,
        unit="ratio",
        cause=opinion.cause.value,
        layer=opinion.layer or layer,
        idle=not gains,
    )
