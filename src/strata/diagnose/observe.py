"""Observations in words, shared by the rules. Every number is taken from the analysis and carries its unit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from strata import units
from strata.diagnose.view import Point, View
from strata.model.estimate import Estimate
from strata.model.finding import Evidence, EvidenceKind

LITTLE_SLACK = 0.2
HEADROOM = 0.75


def cells(view: View, points: Iterable[Point]) -> tuple[str, ...]:
    """The links into the data: both layers' cells."""
    return tuple(k for p in points for k in (f"{view.layer.name}/{p.key}", f"{view.below.name}/{p.key}"))


def spread(values: Sequence[float], say: str) -> str:
    """``143 to 1 143 IOPS`` or one value when they agree within 10 %; ``say`` is count, rate or duration."""
    word = {"count": units.count, "rate": units.rate, "duration": units.duration}[say]
    unit = " IOPS" if say == "count" else ""
    low, high = min(values), max(values)
    if high <= low * 1.1:
        return f"{word(float(np.median(values)))}{unit}"
    return f"{word(low)} to {word(high)}{unit}"


def slower(view: View) -> Evidence:
    """Differential: how many workloads cost more than expected, and the worst of them."""
    worst = view.affected[0]
    return Evidence(
        kind=EvidenceKind.DIFFERENTIAL,
        statement=f"{len(view.affected)} of {len(view.points)} workloads cost more than expected over "
        f"{view.below.name}; the worst is {worst.workload.label}: {units.count(worst.x)} IOPS where {view.below.name} gives "
        f"{units.count(worst.x_below)} ({ratio(worst.comparison.iops)})",
        cells=cells(view, view.affected),
        value=worst.comparison.iops,
    )


def ratio(value: Estimate) -> str:
    """``ratio 0.64, 0.62–0.66``."""
    if value.low is None or value.high is None:
        return f"ratio {units.significant(value.value, 2)}, one round"
    return f"ratio {value.value:.2f}, {value.low:.2f}–{value.high:.2f}"


def inside(view: View, point: Point) -> float:
    """How many of the outstanding I/Os the layer below needs for the IOPS that reach it (from its own profile)."""
    profile = view.profile(point)
    depths, rates = [float(d) for d, _ in profile], [x for _, x in profile]
    if point.x <= rates[0]:
        return depths[0] * point.x / rates[0]
    for (d0, x0), (d1, x1) in zip(
        zip(depths, rates, strict=True), zip(depths[1:], rates[1:], strict=True), strict=False
    ):
        if x0 < point.x <= x1:
            return d0 + (d1 - d0) * (point.x - x0) / (x1 - x0)
    return float(point.n) * min(1.0, point.x / point.x_below)


def waterfall(view: View, points: Sequence[Point]) -> Evidence | None:
    """Operational: where the outstanding requests sit, by Little's law in both layers. None where it does not hold."""
    for point in sorted(points, key=lambda p: p.ratio_log):
        if abs(point.upper.outstanding / point.n - 1) > LITTLE_SLACK:
            continue
        below = inside(view, point)
        if below > 0.9 * point.n:
            continue
        return Evidence(
            kind=EvidenceKind.OPERATIONAL,
            statement=f"{point.workload.label}: of {units.count(point.n)} outstanding requests about "
            f"{units.significant(below, 2)} are in {view.below.name}, the others wait above it; a request takes "
            f"{units.duration(point.n / point.x * 1e9)} here and {units.duration(point.cycle_below * 1e9)} there",
            cells=cells(view, [point]),
        )
    return None


def busy(points: Iterable[Point]) -> list[float]:
    """Processor shares of the upper layer's cells, where they were read."""
    return [p.upper.cpu_busy for p in points if p.upper.cpu_busy is not None]


def idle_processors(view: View, points: Sequence[Point]) -> Evidence | None:
    """Operational: the processors have headroom in these cells."""
    shares = busy(points)
    if not shares or max(shares) >= HEADROOM:
        return None
    return Evidence(
        kind=EvidenceKind.OPERATIONAL,
        statement=f"the processors are at most {units.percent(max(shares))} busy in those cells",
        cells=tuple(view.cell(p) for p in points),
    )


def operational(view: View, points: Sequence[Point]) -> tuple[Evidence, ...]:
    """What the operational laws say about cells that something holds back above the layer below."""
    found = (waterfall(view, points), idle_processors(view, points))
    return tuple(e for e in found if e is not None)


def common_bytes(points: Sequence[Point]) -> str:
    """Bytes per second of the slow cells: what a bandwidth limit would have made equal."""
    return f"the slow cells carry {spread([p.x * p.bs for p in points], 'rate')}, not one common rate"


def common_iops(points: Sequence[Point]) -> str:
    """IOPS of the slow cells: what a cap would have made equal."""
    return f"the slow cells give {spread([p.x for p in points], 'count')}, not one common figure"


def common_delay(points: Sequence[Point]) -> str:
    """Time added per request: what a latency would have made equal."""
    return f"a request gains {spread([max(p.added, 0) * 1e9 for p in points], 'duration')}, not one constant time"
