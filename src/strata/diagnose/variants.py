"""Another depth or block size of a workload that the favourite explains: the one in which the causes differ most."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from strata import units
from strata.diagnose.case import Case, Pair
from strata.diagnose.causes import medium
from strata.diagnose.models import Fit, LimitDirection, LimitKind
from strata.diagnose.opinion import Opinion
from strata.diagnose.predict import predicted, unlimited, widened
from strata.diagnose.separation import apart, worth
from strata.diagnose.view import Point
from strata.model.analysis import CellSummary
from strata.model.cause import Cause
from strata.model.endpoint import EndpointKind
from strata.model.experiment import Experiment, Metric, Prediction
from strata.model.workload import ClosedLoop, Workload

LEAST_BLOCK, MOST_BLOCK, MOST_DEPTH = 4096, 1 << 20, 256
MOST_CELLS = 4
WORDS = {0.25: "a quarter of", 0.5: "half", 2.0: "twice", 4.0: "four times", 8.0: "eight times"}

RIVAL = {
    LimitKind.BANDWIDTH: LimitKind.CAP,
    LimitKind.CAP: LimitKind.BANDWIDTH,
    LimitKind.DELAY: LimitKind.CAP,
    LimitKind.SERIAL: LimitKind.DELAY,
}
"""What would look the same in a single cell: where one cause alone predicts, this predicts beside it."""
SAID = {
    LimitKind.BANDWIDTH: "a limit on bytes per second",
    LimitKind.CAP: "a cap on requests",
    LimitKind.DELAY: "a fixed time for each request",
    LimitKind.SERIAL: "one request at a time",
}


@dataclass(frozen=True)
class Variant:
    """Another workload than that of ``cell``. ``point``: the same over what the layer is compared with, if it is."""

    cell: CellSummary
    workload: Workload
    changes: str
    pair: Pair | None = None
    point: Point | None = None


def reshape(workload: Workload, *, blocks: float = 1, depth: float = 1) -> Workload:
    """The same workload with another block size or depth per thread."""
    assert isinstance(workload.arrival, ClosedLoop)
    arrival = workload.arrival.model_copy(update={"iodepth": max(1, round(workload.arrival.iodepth * depth))})
    return workload.resized(blocks).model_copy(update={"arrival": arrival})


def explained(case: Case, opinion: Opinion) -> Iterator[tuple[CellSummary, Pair | None, Point | None]]:
    """A few cells of the layer that the cause explains, the most telling first: where its limit binds, reads before
    writes (they wear nothing), the slowest over what is below; of a full medium the cell that shows it.

    A raw device is only read.
    """
    station = case.station(opinion.layer)
    if station is None:
        return
    raw = station.layer.target.kind is EndpointKind.BLOCK
    for pair in case.pairs:
        if pair.view.layer.name != opinion.layer or not any(p.key in opinion.cells for p in pair.view.affected):
            continue
        binding = opinion.cells if opinion.model is None else opinion.model.binding or opinion.cells
        mine = [p for p in pair.view.affected if p.key in opinion.cells]
        mine = [p for p in mine if p.key in binding] or mine
        mine = sorted(mine, key=lambda p: (p.workload.rw.writes, p.ratio_log))
        for point in mine[:MOST_CELLS]:
            if not (raw and point.workload.rw.writes):
                yield point.upper, pair, point
        return
    if opinion.cause is Cause.MEDIUM:
        full = medium.full(station, case.analysis.noise.tolerance)
        if full is not None:
            yield full, None, None


def best(case: Case, standing: tuple[Opinion, ...], variants: Iterable[Variant]) -> Experiment | None:
    """Of all variants that were not tried yet, the one that is expected to refute most; of equal ones the first. One
    that confirms nothing comes after all others."""
    found: list[tuple[float, Experiment]] = []
    tried = {(t.experiment.layer, t.experiment.workload.key, t.experiment.reference) for t in case.tried}
    for variant in variants:
        if (standing[0].layer, variant.workload.key, variant.cell.workload.key) in tried:
            continue
        made = _made(case, standing, variant)
        if made is not None and (value := worth(made.predictions, standing)) > 0:
            found.append((value, made))
    return max(found, key=lambda one: (_can_confirm(one[1]), round(one[0], 2)), default=(0.0, None))[1]


def _can_confirm(experiment: Experiment) -> bool:
    """Whether what the favourite predicts lies apart from what the layer below gives without any limit."""
    return experiment.unlimited is None or apart(experiment.prediction, experiment.unlimited) > 0


def _made(case: Case, standing: Sequence[Opinion], variant: Variant) -> Experiment | None:
    asked = Prediction(metric=Metric.IOPS, low=0.0, high=0.0, unit="IOPS")
    empty = Experiment(
        layer=standing[0].layer,
        workload=variant.workload,
        reference=variant.cell.workload.key,
        changes=variant.changes,
        prediction=asked,
        otherwise="",
    )
    free = unlimited(case, standing[0], empty)
    told = [(o, p) for o in standing if (p := predicted(case, o, o.layer, empty)) is not None]
    known = [p for _, p in told]
    if not told or told[0][0] is not standing[0]:
        return None
    otherwise = "what is not the limit would not change it"
    if len(known) == 1:
        beside = _beside(case, variant, standing[0], empty)
        if beside is not None:
            known.append(beside.model_copy(update={"rival": True}))
            otherwise = f"{SAID[_shape_beside(standing[0])]} predicts {_about(beside)}"
    else:
        otherwise = f"{told[1][0].cause.words} predicts {_about(known[1])}"
    update = {"prediction": known[0], "predictions": tuple(known), "unlimited": free, "otherwise": otherwise}
    return empty.model_copy(update=update)


def _about(prediction: Prediction) -> str:
    return f"about {units.count((prediction.low * prediction.high) ** 0.5)} IOPS"


def _shape_beside(opinion: Opinion) -> LimitKind:
    return LimitKind.DELAY if opinion.model is None else RIVAL[opinion.model.shape]


def _beside(case: Case, variant: Variant, opinion: Opinion, experiment: Experiment) -> Prediction | None:
    """Of another limit that gives the very IOPS of this cell, so that only the change can tell them apart."""
    point, cell = variant.point, variant.cell
    if point is not None:
        return predicted(case, _rival(point, opinion), opinion.layer, experiment)
    # Nothing below to compare it with: each request takes as long as before, however many wait.
    x = cell.iops.value * experiment.workload.outstanding / cell.workload.outstanding
    low, high = widened(case, x, x)
    who = {"cause": Cause.PER_REQUEST_COST.value, "layer": opinion.layer, "at": cell.iops.value}
    return experiment.prediction.model_copy(update={"low": low, "high": high, **who})


def _rival(point: Point, opinion: Opinion) -> Opinion:
    shape = _shape_beside(opinion)
    parameter = {
        LimitKind.BANDWIDTH: point.x * point.bs,
        LimitKind.CAP: point.x,
        LimitKind.DELAY: max(point.added, 1e-9),
    }[shape]
    # Whose name it has matters little, as long as it is not the one that it is compared with.
    names = {
        LimitKind.BANDWIDTH: (Cause.WIRE_BANDWIDTH, Cause.BANDWIDTH_CAP),
        LimitKind.CAP: (Cause.IOPS_CAP, Cause.LIMITED_QUEUE),
        LimitKind.DELAY: (Cause.PER_REQUEST_COST, Cause.WIRE_LATENCY),
    }[shape]
    cause = next(n for n in names if n is not opinion.cause)
    keys = frozenset({point.key})
    model = Fit(shape, LimitDirection.BOTH, parameter, 0.0, 0.0, 0.0, 1.0, 0.0, keys, {})
    return Opinion(None, layer=opinion.layer, model=model, cells=keys, cause=cause)
