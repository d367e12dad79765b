"""What a rule looks at: one layer against the layer below it, over all workloads both were measured with."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from strata.analyse.compare import held_open
from strata.analyse.stats import PRIOR_DF, t_quantile
from strata.model.analysis import Analysis, CellSummary, Comparison, Equivalence, Remote
from strata.model.stack import Layer, Stack
from strata.model.workload import Workload

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Point:
    """One workload. ``ratio_log`` is ln(IOPS of the layer ÷ below), ``sd`` its standard error (no less than 1 %)."""

    workload: Workload
    comparison: Comparison
    upper: CellSummary
    lower: CellSummary
    ratio_log: float
    sd: float

    @property
    def key(self) -> str:
        return self.workload.key

    @property
    def n(self) -> int:
        """I/Os kept outstanding."""
        return self.workload.outstanding

    @property
    def bs(self) -> int:
        """Bytes per I/O, on average."""
        return round(self.workload.bs_moments[0])

    @property
    def x_below(self) -> float:
        """IOPS of the layer below."""
        return self.lower.iops.value

    @property
    def x(self) -> float:
        """IOPS of the layer, by the paired ratio."""
        return self.x_below * math.exp(self.ratio_log)

    @property
    def cycle_below(self) -> float:
        """Seconds from one issue to the next in one slot below (Little: N ÷ X)."""
        return self.n / self.x_below

    @property
    def added(self) -> float:
        """Seconds each request takes more than below (N ÷ X of both)."""
        return self.n / self.x - self.cycle_below

    @property
    def loss(self) -> float:
        """How much is lost, as −ln(ratio), not below 0."""
        return max(0.0, -self.ratio_log)

    @property
    def above(self) -> bool:
        """Whether it costs more than expected, beyond noise."""
        return self.comparison.verdict is Equivalence.ABOVE

    @cached_property
    def pattern(self) -> Workload:
        """What must be equal for two points to differ in depth only."""
        return self.workload.apart_from_depth


@dataclass(frozen=True)
class View:
    """One layer over one below; ``points`` are the closed-loop cells, ``everything`` those of the whole run."""

    stack: Stack
    analysis: Analysis
    layer: Layer
    below: Layer
    points: tuple[Point, ...]
    everything: tuple[Point, ...]

    @property
    def affected(self) -> tuple[Point, ...]:
        """The points that cost more than expected, the worst first."""
        return tuple(sorted((p for p in self.points if p.above), key=lambda p: p.ratio_log))

    @property
    def wired(self) -> bool:
        """Whether requests leave through a protocol (there may be a wire and a remote end)."""
        return self.layer.target.remote

    @property
    def remote(self) -> Remote | None:
        """What the handshake of this layer showed."""
        return next((r for r in self.analysis.remotes if r.layer == self.layer.name), None)

    @property
    def rtt(self) -> float | None:
        """Seconds of round trip this layer has more than the one below; None when it was not probed."""
        if self.remote is None:
            return None
        lower = next((r for r in self.analysis.remotes if r.layer == self.below.name), None)
        return max(0.0, self.remote.min_rtt_ns - (lower.min_rtt_ns if lower else 0.0)) / 1e9

    @property
    def tolerance(self) -> float:
        """The noise floor's share of every comparison."""
        return self.analysis.noise.tolerance

    def profile(self, point: Point) -> tuple[tuple[int, float], ...]:
        """(outstanding, IOPS below) of this pattern at every depth it was measured with, ascending."""
        return self._profiles.get(point.pattern) or ((point.n, point.x_below),)

    @cached_property
    def _profiles(self) -> dict[Workload, tuple[tuple[int, float], ...]]:
        found: dict[Workload, set[tuple[int, float]]] = {}
        for p in self.everything:
            found.setdefault(p.pattern, set()).add((p.n, p.x_below))
        return {pattern: tuple(sorted(pairs)) for pattern, pairs in found.items()}

    def quickest(self, point: Point) -> float:
        """Seconds: the shortest cycle below that could be this pattern's without queueing. At most its own."""
        same = [cycle for n, bs, cycle in self._cycles if n <= point.n and bs <= point.bs]
        return min(same, default=point.cycle_below)

    @cached_property
    def _cycles(self) -> tuple[tuple[int, int, float], ...]:
        return tuple((p.n, p.bs, p.cycle_below) for p in self.everything)

    def without(self, keys: set[str]) -> View:
        """The same view with these cells left out; profiles still know them."""
        return replace(self, points=tuple(p for p in self.points if p.key not in keys))

    def cell(self, point: Point) -> str:
        """The cell's key as the data has it."""
        return f"{self.layer.name}/{point.key}"


def views(stack: Stack, analysis: Analysis) -> tuple[View, ...]:
    """One for each pair of layers that were compared in a closed loop."""
    found = []
    for layer, below in stack.pairs:
        points = []
        for one in analysis.comparisons:
            if (one.layer, one.below) != (layer.name, below.name):
                continue
            upper, lower = analysis.summary(one.layer, one.workload_key), analysis.summary(one.below, one.workload_key)
            if upper and lower and upper.workload.saturates and one.iops.value > 0:
                # Runs that were kept before comparisons said so themselves.
                asked = held_open(one, *((side.workload, side.ios / side.rounds) for side in (upper, lower)))
                points.append(_point(asked, upper, lower))
        if points:
            found.append(View(stack, analysis, layer, below, tuple(points), tuple(points)))
    return tuple(found)


def _point(one: Comparison, upper: CellSummary, lower: CellSummary) -> Point:
    low, high = one.iops.low, one.iops.high
    sd = 0.3
    if low is not None and high is not None and low > 0:
        sd = math.log(high / low) / (2 * t_quantile(one.iops.n - 1 + PRIOR_DF))
    return Point(upper.workload, one, upper, lower, math.log(one.iops.value), max(sd, 0.01))
