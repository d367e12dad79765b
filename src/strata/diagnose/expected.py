"""What standing causes expect of an experiment that is about some of them: how many times the IOPS, each for itself.

A range that contains 1 says what anything would that knows nothing of the change, so it is idle: to be right with it
confirms nothing. A cause that cannot say is left out, and the experiment decides nothing about it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from strata.diagnose.case import Case, Station
from strata.diagnose.models import LimitKind
from strata.diagnose.opinion import Opinion
from strata.diagnose.predict import UNIT
from strata.diagnose.sides import CauseSide, on
from strata.model.analysis import CellSummary
from strata.model.cause import Cause
from strata.model.experiment import LEAST_RATIO, MOST_RATIO, Experiment, Metric, Prediction
from strata.model.workload import Workload

Range = tuple[float, float]
SAME: Range = (0.8, 1.25)
"""Times the IOPS, where nothing is changed that limits."""
FALLS, MOST = LEAST_RATIO, MOST_RATIO


def told(
    standing: tuple[Opinion, ...],
    said: Mapping[Cause, Range],
    others: Range | None = SAME,
    metric: Metric = Metric.RATIO,
    still: float = 1.0,
) -> tuple[Prediction, ...]:
    """The predictions, in the order in which the causes stand; ``others``: of those that are not in ``said``.

    ``still``: what the metric is where nothing changes.
    """
    found = []
    for opinion in standing:
        expected = said.get(opinion.cause, others)
        if expected is not None:
            low, high = expected
            found.append(
                Prediction(
                    metric=metric,
                    low=low,
                    high=high,
                    unit=UNIT[metric],
                    cause=opinion.cause.value,
                    layer=opinion.layer,
                    idle=low <= still <= high,
                )
            )
    return tuple(found)


def asked(
    cell: CellSummary,
    changes: str,
    predictions: tuple[Prediction, ...],
    *,
    changed: Workload | None = None,
    layer: str | None = None,
    **more: Any,
) -> Experiment | None:
    """The experiment beside ``cell``; None where nobody predicts that anything changes.

    ``changed``: the workload that is measured instead, ``layer``: the layer where; both are the cell's own otherwise.
    """
    if not predictions or all(p.idle for p in predictions):
        return None
    return Experiment(
        layer=layer or cell.layer,
        workload=changed or cell.workload,
        reference=cell.workload.key,
        changes=changes,
        prediction=predictions[0],
        predictions=predictions,
        **{"otherwise": "with any other cause it does not change", **more},
    )


def station_of(case: Case, standing: tuple[Opinion, ...], about: frozenset[Cause]) -> tuple[Opinion, Station] | None:
    """The first standing cause that the experiment is about, and the layer it blames; None where there is none."""
    for opinion in standing:
        station = case.station(opinion.layer) if opinion.cause in about else None
        if station is not None:
            return opinion, station
    return None


def random_read(station: Station, opinion: Opinion) -> CellSummary | None:
    """A closed loop of small random reads, several at once, of those that the cause explains."""
    reads = [
        c
        for c in station.cells
        if c.workload.saturates and c.workload.rw.random and not c.workload.rw.writes and c.workload.range is None
    ]
    mine = [c for c in reads if c.workload.key in opinion.cells]
    return min(mine, key=lambda c: (c.workload.outstanding == 1, c.workload.bs, -c.workload.outstanding), default=None)


def at_once(case: Case, opinion: Opinion, cell: CellSummary) -> Range | None:
    """How many times the IOPS are left to gain where what lies behind the cause answered at once; None: not known.

    Where something is full, none; where each request waits a time of its own, up to N ÷ that time (Little). So it is
    where others fill it: what is not spent below may be spent waiting behind their bytes.
    """
    if cell.workload.key not in opinion.cells or cell.iops.value <= 0:
        return None
    model, each = opinion.model, cell.workload.outstanding / cell.iops.value
    if model is not None and model.shape is LimitKind.DELAY:
        return _up_to(each, model.parameter + model.base)
    if opinion.cause in on(CauseSide.OTHERS):
        rows = [p for _, p in case.rows(opinion.layer, cell.workload.key) if p.x_below > 0]
        return _up_to(each, each - cell.workload.outstanding / rows[0].x_below) if rows else None
    return SAME if opinion.cause in on(CauseSide.FULL) or model is not None else None


def _up_to(each: float, least: float) -> Range:
    """Where a request that takes ``each`` seconds now takes at least so many."""
    return SAME[0], max(SAME[1], SAME[1] * each / least) if least > 0 else MOST
