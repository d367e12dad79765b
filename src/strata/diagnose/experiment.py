"""Another depth or block size that would refute a shape, its prediction stated first."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from strata import units
from strata.diagnose.case import Pair
from strata.diagnose.models import Fit, Shape, solve_profile
from strata.diagnose.predict import slack
from strata.diagnose.view import Point, View
from strata.model.experiment import Experiment, Prediction
from strata.model.workload import ClosedLoop, Workload

LEAST_BLOCK, MOST_BLOCK, MOST_DEPTH = 4096, 1 << 20, 256


def reshape(workload: Workload, *, blocks: float = 1, depth: float = 1) -> Workload:
    """The same workload with another block size or depth per thread."""
    assert isinstance(workload.arrival, ClosedLoop)
    arrival = workload.arrival.model_copy(update={"iodepth": max(1, round(workload.arrival.iodepth * depth))})
    return workload.resized(blocks).model_copy(update={"arrival": arrival})


def _bound(pair: Pair, found: Fit) -> list[Point]:
    """The cells where the limit holds, reads before writes (they wear nothing), the worst first."""
    points = [p for p in pair.view.affected if p.key in found.binding] or list(pair.view.affected)
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


def other_blocks(pair: Pair, mine: Shape, factor: float, x: float) -> str:
    """What the best other shape predicts when only the block size changes."""
    other = next((f.shape for f in pair.fits if f.shape is not mine), mine)
    if other is Shape.BANDWIDTH:
        return f"a limit on bytes per second would give {units.count(x / factor)} IOPS"
    if other is Shape.CAP:
        return f"a cap on requests would leave {units.count(x)} IOPS"
    return f"a fixed cost for each request would leave about {units.count(x)} IOPS"


def other_depth(pair: Pair, mine: Shape | None, factor: float, x: float) -> str:
    """What the best other shape predicts when only the depth changes."""
    other = next((f.shape for f in pair.fits if f.shape is not mine), mine)
    if other is Shape.DELAY:
        return f"a fixed time for each request would give about {units.count(x * factor)} IOPS"
    return f"a limit that is already reached would leave {units.count(x)} IOPS"


def bandwidth(pair: Pair, found: Fit) -> Experiment | None:
    """A quarter of the block at the same depth: the same bytes, four times the IOPS, as long as the wire binds."""
    points = sorted(_bound(pair, found), key=lambda p: (p.workload.rw.writes, -p.bs))
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
                pair.view,
                point,
                reshape(point.workload, blocks=factor),
                f"{_words(factor)} the block size at the same depth",
                "iops",
                x,
                x,
                other_blocks(pair, Shape.BANDWIDTH, factor, point.x),
            )
    return None


def cap(pair: Pair, found: Fit) -> Experiment | None:
    """Another block size at the same depth: the same IOPS."""
    for point in _bound(pair, found):
        factor = 2.0 if point.x <= 0.5 * point.x_below and point.bs * 2 <= MOST_BLOCK else 0.5
        if not LEAST_BLOCK <= point.bs * factor <= MOST_BLOCK:
            continue
        return _make(
            pair.view,
            point,
            reshape(point.workload, blocks=factor),
            f"{_words(factor)} the block size at the same depth",
            "iops",
            point.x,
            point.x,
            f"a limit on bytes per second would give {units.count(point.x / factor)} IOPS",
        )
    return None


def delay(pair: Pair, found: Fit) -> Experiment | None:
    """Another depth: the IOPS follow it, as far as the layer below can."""
    best: tuple[float, Point, float, float] | None = None
    for point in _bound(pair, found):
        for factor in (2.0, 0.5):
            n = point.n * factor
            if n < 1 or n > MOST_DEPTH or (point.n % 2 and factor < 1):
                continue
            x = float(solve_profile(pair.view.profile(point), n, np.array([found.parameter]))[0])
            move = abs(math.log(x / point.x))
            if best is None or move > best[0] + 0.1:
                best = (move, point, factor, x)
    if best is None or best[0] < math.log(1.5):
        return None
    _, point, factor, x = best
    return _make(
        pair.view,
        point,
        reshape(point.workload, depth=factor),
        f"{_words(factor)} the depth",
        "iops",
        x,
        x,
        other_depth(pair, Shape.DELAY, factor, point.x),
    )


def depth_of(pair: Pair, points: Sequence[Point], least: float) -> Experiment | None:
    """Another depth where each request takes ``least`` seconds longer or more: as many times the IOPS as any such time
    gives, up to the one that would make all of the loss."""
    best: tuple[float, Point, float, float, float] | None = None
    for point in points:
        delays = np.array([least, max(least, point.added)])
        profile = pair.view.profile(point)
        before = solve_profile(profile, point.n, delays)
        for factor in (2.0, 0.5):
            n = point.n * factor
            if n < 1 or n > MOST_DEPTH or (point.n % 2 and factor < 1):
                continue
            gains = solve_profile(profile, n, delays) / before
            move = float(np.min(np.abs(np.log(gains))))
            if best is None or move > best[0] + 0.1:
                best = move, point, factor, float(np.min(gains)), float(np.max(gains))
    if best is None or best[0] < math.log(1.4):
        return None
    _, point, factor, low, high = best
    return _make(
        pair.view,
        point,
        reshape(point.workload, depth=factor),
        f"{_words(factor)} the depth",
        "iops",
        point.x * low,
        point.x * high,
        other_depth(pair, Shape.DELAY, factor, point.x),
    )


def per_request(pair: Pair, found: Fit) -> Experiment | None:
    """Twice the block: the added time stays (the layer below may at most take twice as long)."""
    if found.shape is Shape.SERIAL:
        return saturated(pair, _bound(pair, found), Shape.SERIAL)
    for point in _bound(pair, found):
        if point.bs * 2 > MOST_BLOCK:
            continue
        mean = point.n / point.x * 1e9
        return _make(
            pair.view,
            point,
            reshape(point.workload, blocks=2),
            "twice the block size at the same depth",
            "mean_ns",
            mean,
            mean + point.cycle_below * 1e9,
            other_blocks(pair, Shape.DELAY, 2.0, point.x),
        )
    return None


def saturated(pair: Pair, points: Sequence[Point], mine: Shape | None) -> Experiment | None:
    """Twice the depth where something is already full: the same IOPS, twice the time."""
    for point in sorted(points, key=lambda p: (p.workload.rw.writes, -p.n)):
        if point.n * 2 > MOST_DEPTH or point.n < 4:
            continue
        return _make(
            pair.view,
            point,
            reshape(point.workload, depth=2),
            "twice the depth",
            "iops",
            point.x,
            point.x,
            f"a fixed time for each request would give about {units.count(point.x * 2)} IOPS",
        )
    return None
