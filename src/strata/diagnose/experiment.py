"""The one measurement that would refute a finding, its prediction stated first, and what it gave."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from strata import units
from strata.diagnose.models import Fit, Shape, solve_profile
from strata.diagnose.opinion import Case
from strata.diagnose.view import Point, View
from strata.model.analysis import CellSummary
from strata.model.estimate import Estimate
from strata.model.finding import Experiment, Outcome, Prediction
from strata.model.workload import ClosedLoop, Workload

LEAST_BLOCK, MOST_BLOCK, MOST_DEPTH = 4096, 1 << 20, 256


def slack(tolerance: float) -> float:
    """Half the width of a prediction on logs: 12 % for the model and two tolerances for the noise, at most 35 %.

    The runner-up predicts at least 1.5 times more or less, so a wider range would no longer refute anything.
    """
    return min(0.35, 0.12 + 2 * tolerance)


def reshape(workload: Workload, *, blocks: float = 1, depth: float = 1) -> Workload:
    """The same workload with another block size or depth per thread."""
    assert isinstance(workload.arrival, ClosedLoop)
    arrival = workload.arrival.model_copy(update={"iodepth": max(1, round(workload.arrival.iodepth * depth))})
    return workload.resized(blocks).model_copy(update={"arrival": arrival})


def _bound(case: Case, found: Fit) -> list[Point]:
    """The cells where the limit holds, reads before writes (they wear nothing), the worst first."""
    points = [p for p in case.view.affected if p.key in found.binding] or list(case.view.affected)
    return sorted(points, key=lambda p: (p.workload.rw.writes, p.ratio_log))


def _make(
    view: View, point: Point, workload: Workload, changes: str, metric: str, low: float, high: float, otherwise: str
) -> Experiment:
    wide = math.exp(slack(view.tolerance))
    unit = "IOPS" if metric == "iops" else "ns"
    return Experiment(
        layer=view.layer.name,
        workload=workload,
        reference=point.key,
        changes=changes,
        prediction=Prediction(metric=metric, low=low / wide, high=high * wide, unit=unit),
        otherwise=otherwise,
    )


def _words(factor: float) -> str:
    names = {0.25: "a quarter of", 0.5: "half", 2: "twice", 4: "four times"}
    return names[factor]


def other_blocks(case: Case, mine: Shape, factor: float, x: float) -> str:
    """What the best other shape predicts when only the block size changes."""
    other = next((f.shape for f in case.fits if f.shape is not mine), mine)
    if other is Shape.BANDWIDTH:
        return f"a limit on bytes per second would give {units.count(x / factor)} IOPS"
    if other is Shape.CAP:
        return f"a cap on requests would leave {units.count(x)} IOPS"
    return f"a fixed cost for each request would leave about {units.count(x)} IOPS"


def other_depth(case: Case, mine: Shape | None, factor: float, x: float) -> str:
    """What the best other shape predicts when only the depth changes."""
    other = next((f.shape for f in case.fits if f.shape is not mine), mine)
    if other is Shape.DELAY:
        return f"a fixed time for each request would give about {units.count(x * factor)} IOPS"
    return f"a limit that is already reached would leave {units.count(x)} IOPS"


def bandwidth(case: Case, found: Fit) -> Experiment | None:
    """A quarter of the block at the same depth: the same bytes, four times the IOPS, as long as the wire binds."""
    points = sorted(_bound(case, found), key=lambda p: (p.workload.rw.writes, -p.bs))
    for point in points:
        service = point.bs / found.parameter
        for factor in (0.25, 0.5, 4.0, 2.0):
            size = point.bs * factor
            if not LEAST_BLOCK <= size <= MOST_BLOCK or size % 512:
                continue
            limited = point.n > 1.25 * (1 + point.cycle_below / (service * factor))
            if factor < 1 and not (point.x / factor <= 0.8 * point.x_below and limited):
                continue
            x = point.x / factor
            if factor > 1 and not limited:
                continue
            return _make(
                case.view,
                point,
                reshape(point.workload, blocks=factor),
                f"{_words(factor)} the block size at the same depth",
                "iops",
                x,
                x,
                other_blocks(case, Shape.BANDWIDTH, factor, point.x),
            )
    return None


def cap(case: Case, found: Fit) -> Experiment | None:
    """Another block size at the same depth: the same IOPS."""
    for point in _bound(case, found):
        factor = 2.0 if point.x <= 0.5 * point.x_below and point.bs * 2 <= MOST_BLOCK else 0.5
        if not LEAST_BLOCK <= point.bs * factor <= MOST_BLOCK:
            continue
        return _make(
            case.view,
            point,
            reshape(point.workload, blocks=factor),
            f"{_words(factor)} the block size at the same depth",
            "iops",
            point.x,
            point.x,
            f"a limit on bytes per second would give {units.count(point.x / factor)} IOPS",
        )
    return None


def delay(case: Case, found: Fit) -> Experiment | None:
    """Another depth: the IOPS follow it, as far as the layer below can."""
    best: tuple[float, Point, float, float] | None = None
    for point in _bound(case, found):
        for factor in (2.0, 0.5):
            n = point.n * factor
            if n < 1 or n > MOST_DEPTH or (point.n % 2 and factor < 1):
                continue
            x = float(solve_profile(case.view.profile(point), n, np.array([found.parameter]))[0])
            move = abs(math.log(x / point.x))
            if best is None or move > best[0] + 0.1:
                best = (move, point, factor, x)
    if best is None or best[0] < math.log(1.5):
        return None
    _, point, factor, x = best
    return _make(
        case.view,
        point,
        reshape(point.workload, depth=factor),
        f"{_words(factor)} the depth",
        "iops",
        x,
        x,
        other_depth(case, Shape.DELAY, factor, point.x),
    )


def per_request(case: Case, found: Fit) -> Experiment | None:
    """Twice the block: the added time stays (the layer below may at most take twice as long)."""
    if found.shape is Shape.SERIAL:
        return saturated(case, _bound(case, found), Shape.SERIAL)
    for point in _bound(case, found):
        if point.bs * 2 > MOST_BLOCK:
            continue
        mean = point.n / point.x * 1e9
        return _make(
            case.view,
            point,
            reshape(point.workload, blocks=2),
            "twice the block size at the same depth",
            "mean_ns",
            mean,
            mean + point.cycle_below * 1e9,
            other_blocks(case, Shape.DELAY, 2.0, point.x),
        )
    return None


def saturated(case: Case, points: Sequence[Point], mine: Shape | None) -> Experiment | None:
    """Twice the depth where something is already full: the same IOPS, twice the time."""
    for point in sorted(points, key=lambda p: (p.workload.rw.writes, -p.n)):
        if point.n * 2 > MOST_DEPTH or point.n < 4:
            continue
        return _make(
            case.view,
            point,
            reshape(point.workload, depth=2),
            "twice the depth",
            "iops",
            point.x,
            point.x,
            f"a fixed time for each request would give about {units.count(point.x * 2)} IOPS",
        )
    return None


def outcome(experiment: Experiment, reference: CellSummary, measured: CellSummary) -> Outcome:
    """Holds the measured cell against the prediction.

    True when the whole interval lies inside it, False when all of it lies outside, None when it reaches over an
    edge. With one round the value alone decides.
    """
    prediction = experiment.prediction
    value: Estimate = getattr(measured, prediction.metric)
    low = value.value if value.low is None else value.low
    high = value.value if value.high is None else value.high
    if prediction.low <= low and high <= prediction.high:
        holds: bool | None = True
    elif high < prediction.low or low > prediction.high:
        holds = False
    else:
        holds = None
    got = amount(value.value, prediction)
    before = amount(getattr(reference, prediction.metric).value, prediction).removesuffix(" IOPS")
    edge = "; the interval reaches over the edge" if holds is None else ""
    statement = f"{experiment.changes} gives {got} (before: {before}), predicted {say_range(prediction)}{edge}"
    return Outcome(experiment=experiment, measured=value, holds=holds, statement=statement)


def amount(value: float, prediction: Prediction) -> str:
    """A value in the prediction's unit, in words."""
    return units.duration(value) if prediction.unit == "ns" else f"{units.count(value)} {prediction.unit}"


def say_range(prediction: Prediction) -> str:
    """``760–870 IOPS``."""
    return units.span(amount(prediction.low, prediction), amount(prediction.high, prediction))
