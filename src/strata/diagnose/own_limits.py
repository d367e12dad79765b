"""Which single limit turns a healthy device into the one that was measured. Each has one parameter.

* slower f: each request takes f times as long at every depth; larger ones as many times, or as much time, longer.
* queue k: so many are served at once, each as quickly as ever: X = min(healthy, k ÷ service).
* requests C, bytes B: a budget a second, X = min(healthy, C) or min(healthy, B ÷ size).

The healthy device is what the specification says (`strata.diagnose.reference`); the misfit is as in
`strata.diagnose.models`. A row that a budget forbids refutes it, of whatever reads. A budget of requests counts what
is merged on the way to the device once, or as often as it was asked for: it depends on where it is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from strata.diagnose import reference
from strata.diagnose.case import Case, Station
from strata.diagnose.identity_key import IdentityKey
from strata.diagnose.models import MODEL_SD
from strata.diagnose.opinion import Opinion
from strata.diagnose.over_time import between
from strata.diagnose.reference import BLOCK, Healthy, ReferenceComparison, grounds, held, of_one
from strata.model.cause import Cause
from strata.model.experiment import Condition, Experiment, Metric
from strata.model.workload import Workload

Range = tuple[float, float]
SLOW = 1.25
"""What a cell must lose, as a factor, before a device is called anything."""
LEAST_EXPLAINED, MOST_PER_ROW, MOST_ROW = 0.75, 3.0, 3.0
MOST_SERVERS = 64
COARSE, FINER = 41, 21
BUDGETS = frozenset({Cause.IOPS_CAP, Cause.BANDWIDTH_CAP})


@dataclass(frozen=True)
class Limit:
    """One limit at its best parameter: ``score`` as of `models.Fit`, ``rows`` the predicted IOPS of each cell."""

    cause: Cause
    parameter: float
    score: float
    explained: float
    per_row: float
    rows: dict[str, Range]
    residual: dict[str, float]

    @property
    def acceptable(self) -> bool:
        """Whether it explains the loss and contradicts no row."""
        worst = max((abs(z) for z in self.residual.values()), default=0.0)
        return self.explained >= LEAST_EXPLAINED and self.per_row <= MOST_PER_ROW and worst <= MOST_ROW


@dataclass(frozen=True)
class GroundLayer:
    """One ground layer beside what it should be, and every single limit, the best first."""

    station: Station
    known: Healthy
    cells: tuple[ReferenceComparison, ...]
    limits: tuple[Limit, ...]

    @property
    def slow(self) -> tuple[ReferenceComparison, ...]:
        """The cells that lost enough to be felt, beyond their noise, the worst first."""
        lost = [h for h in self.cells if h.ratio_log + 2 * h.sd < 0 and h.ratio_log < -math.log(SLOW) + 1e-9]
        return tuple(sorted(lost, key=lambda h: h.ratio_log))

    @property
    def loss(self) -> float:
        """The mean −ln of what is left over the cells that are known."""
        return sum(max(0.0, -h.ratio_log) for h in self.cells) / max(1, len(self.cells))

    def limit(self, cause: Cause) -> Limit:
        return next(one for one in self.limits if one.cause is cause)

    def lead(self, cause: Cause) -> float:
        """How much better it is than the best of the others."""
        other = min(one.score for one in self.limits if one.cause is not cause)
        return other - self.limit(cause).score


def predict(known: Healthy, cause: Cause, parameter: float, depth: int, size: float) -> Range | None:
    """IOPS of reads under the limit; None where the healthy device is not known for them."""
    at_best, most = known.rate(depth, size), known.most(depth, size)
    if at_best is None or most is None:
        return None
    alone, small = known.service(size), known.service(BLOCK)
    match cause:
        case Cause.SLOW_MEDIUM:
            if alone is None or small is None or size <= BLOCK:
                return at_best / parameter, most / parameter if size <= 2 * BLOCK else most
            return at_best / parameter, most * alone / (alone + (parameter - 1) * small)
        case Cause.LIMITED_QUEUE:
            if alone is None:
                at_once = known.servers
                part = 1.0 if at_once is None or depth == 1 else min(1.0, parameter / at_once)
                return at_best * part, most
            x = min(depth, parameter) / alone
            return min(at_best, x), min(most, x)
        case Cause.IOPS_CAP:
            return min(at_best, parameter), min(most, parameter)
        case _:
            return min(at_best, parameter / size), min(most, parameter / size)


def owns(case: Case) -> tuple[GroundLayer, ...]:
    """Every ground layer of which something is promised."""
    return _owns(IdentityKey(case))


@lru_cache(maxsize=4)
def _owns(of: IdentityKey) -> tuple[GroundLayer, ...]:
    (case,) = of.values
    assert isinstance(case, Case)
    found = []
    for station in grounds(case):
        should = reference.known(case, station)
        cells = held(station, should)
        if should is not None and cells:
            raised = between(case, station.layer.name)
            cells = tuple(h if h.depth == 1 else replace(h, measured=h.measured * raised) for h in cells)
            found.append(GroundLayer(station, should, cells, _limits(should, cells, _others(station, cells, raised))))
    return tuple(found)


@dataclass(frozen=True)
class _Used:
    """What reads of which nothing is promised take of a budget, a second: ``requests`` at the device, bytes."""

    requests: float
    bytes: float

    def over(self, cause: Cause, budget: float) -> float:
        """How far beyond it, on logs."""
        return max(0.0, math.log((self.requests if cause is Cause.IOPS_CAP else self.bytes) / budget))


def _others(station: Station, cells: tuple[ReferenceComparison, ...], raised: float) -> tuple[_Used, ...]:
    mine = {h.key for h in cells}
    rest = [
        c for c in station.cells if c.workload.key not in mine and c.workload.saturates and not c.workload.rw.writes
    ]
    rates = ((c, c.iops.value * raised) for c in rest)
    return tuple(_Used(rate / of_one(c), rate * c.workload.bs_moments[0]) for c, rate in rates)


def _limits(known: Healthy, cells: tuple[ReferenceComparison, ...], others: tuple[_Used, ...]) -> tuple[Limit, ...]:
    none = sum(_bounded(_z(h, (h.promised, h.promised))) for h in cells)
    made = []
    for cause, grid in _grids(cells).items():
        made.append(_best(known, cause, grid, cells, others, none))
    return tuple(sorted(made, key=lambda one: one.score))


def _grids(cells: tuple[ReferenceComparison, ...]) -> dict[Cause, list[float]]:
    rates, sizes = [h.measured for h in cells], [h.measured * h.size for h in cells]
    return {
        Cause.SLOW_MEDIUM: [float(x) for x in np.geomspace(1.0, 200.0, COARSE)],
        Cause.LIMITED_QUEUE: [float(k) for k in range(1, MOST_SERVERS + 1)],
        Cause.IOPS_CAP: [float(x) for x in np.geomspace(min(rates) * 0.8, max(rates) * 1.25, COARSE)],
        Cause.BANDWIDTH_CAP: [float(x) for x in np.geomspace(min(sizes) * 0.8, max(sizes) * 1.25, COARSE)],
    }


def _z(h: ReferenceComparison, predicted: Range) -> float:
    """How far the measured rate lies outside, in standard errors: above 0 where it is slower than predicted."""
    at = math.log(h.measured)
    outside = max(math.log(predicted[0]) - at, 0.0) - max(at - math.log(predicted[1]), 0.0)
    return outside / math.hypot(h.sd, MODEL_SD)


def _bounded(z: float) -> float:
    """Huber's loss, as `models.bounded`, of one number."""
    return z * z if abs(z) <= 3 else 6 * abs(z) - 9


def _best(
    known: Healthy,
    cause: Cause,
    grid: list[float],
    cells: tuple[ReferenceComparison, ...],
    others: tuple[_Used, ...],
    none: float,
) -> Limit:
    tried = [_at(known, cause, one, cells, others, none) for one in grid]
    at = min(range(len(grid)), key=lambda n: tried[n].score)
    if cause is Cause.LIMITED_QUEUE:
        return tried[at]
    finer = np.geomspace(grid[max(0, at - 1)], grid[min(len(grid) - 1, at + 1)], FINER)
    return min((_at(known, cause, float(one), cells, others, none) for one in finer), key=lambda limit: limit.score)


def _at(
    known: Healthy,
    cause: Cause,
    parameter: float,
    cells: tuple[ReferenceComparison, ...],
    others: tuple[_Used, ...],
    none: float,
) -> Limit:
    rows = {h.key: found for h in cells if (found := _row(known, cause, parameter, h)) is not None}
    residual = {h.key: _z(h, rows[h.key]) for h in cells if h.key in rows}
    if cause in BUDGETS:
        for n, used in enumerate(others):
            residual[f"other {n}"] = -used.over(cause, parameter) / math.hypot(0.02, MODEL_SD)
    score = sum(map(_bounded, residual.values()))
    explained = max(0.0, 1 - score / none) if none > 0 else 0.0
    return Limit(cause, parameter, score, explained, score / max(1, len(residual)), rows, residual)


def _row(known: Healthy, cause: Cause, parameter: float, h: ReferenceComparison) -> Range | None:
    found = predict(known, cause, parameter, h.depth, h.size)
    if found is None or cause is not Cause.IOPS_CAP:
        return found
    most = known.most(h.depth, h.size)
    return found[0], found[1] if most is None else min(most, found[1] * h.of_one)


def of(case: Case, layer: str) -> GroundLayer | None:
    return next((one for one in owns(case) if one.station.layer.name == layer), None)


def of_experiment(case: Case, opinion: Opinion, experiment: Experiment) -> Range | None:
    """What a cause predicts of an experiment that asks its layer for another read, in the experiment's metric."""
    plain = experiment.condition is Condition.NONE and experiment.reference_layer in (None, experiment.layer)
    if not plain or experiment.layer != opinion.layer:
        return None
    changed = other(case, opinion.layer, opinion.cause, experiment.workload)
    if changed is None or experiment.prediction.metric == Metric.IOPS:
        return changed
    if experiment.prediction.metric == Metric.MEAN:
        n = experiment.workload.outstanding * 1e9
        return n / changed[1], n / changed[0]
    station = case.station(opinion.layer)
    before = station.cell(experiment.reference) if station is not None else None
    if before is None:
        return None
    return changed[0] / before.iops.value, changed[1] / before.iops.value


def other(case: Case, layer: str, cause: Cause, workload: Workload) -> Range | None:
    """What the limit would make of another workload of that layer: reads of any size, at any depth."""
    one = of(case, layer)
    if one is None or workload.rw.writes or not workload.saturates:
        return None
    found = predict(one.known, cause, one.limit(cause).parameter, workload.outstanding, workload.bs_moments[0])
    if found is None:
        return None
    lowered = between(case, layer)
    return found[0] / lowered, found[1] / lowered
