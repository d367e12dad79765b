"""A layer against the layer below it, workload by workload.

The same round of both was measured within seconds, so ratios are formed within rounds (paired) and only then
estimated. The equivalence test is interval inclusion (two one-sided tests: Schuirmann 1987) on the IOPS ratio, against
the overhead that was *stated*: WITHIN when the whole interval lies above 1 − stated, ABOVE when the whole of it lies
below, FASTER when it lies above 1 + `GAIN`, else CANNOT_TELL. Noise widens the interval, never the allowance: what it
hides cannot be told. "Not significantly different" is never taken for "equal".
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from strata.analyse.rounds import CellRounds
from strata.analyse.stats import centre, estimate
from strata.model.analysis import Comparison, Equivalence, NoiseFloor
from strata.model.endpoint import EndpointKind
from strata.model.estimate import Estimate
from strata.model.percentiles import SHOWN_PERCENTILES
from strata.model.plan import Plan
from strata.model.stack import Layer
from strata.model.workload import Workload

FILE_OVER_DISK = 0.05
OTHERWISE = 0.15
GAIN = 0.05
"""What a layer may gain without being called faster than what it is compared with."""


def expected_overhead(layer: Layer, below: Layer) -> float:
    """What was asked for; else 5 % for a file system over its disk and 15 % for everything above."""
    if layer.expect.overhead_max is not None:
        return layer.expect.overhead_max
    if layer.target.kind is EndpointKind.FILE and below.target.kind is EndpointKind.BLOCK:
        return FILE_OVER_DISK
    return OTHERWISE


def equivalence(ratio: Estimate, expected: float) -> Equivalence:
    """The verdict on one IOPS ratio; ``expected`` is the overhead that was stated."""
    line = 1 - expected
    if ratio.low is None or ratio.high is None:
        return Equivalence.CANNOT_TELL
    if ratio.low > 1 + GAIN:
        return Equivalence.FASTER
    if ratio.low > line:
        return Equivalence.WITHIN
    if ratio.high < line:
        return Equivalence.ABOVE
    return Equivalence.CANNOT_TELL


def compare(plan: Plan, cells: Mapping[tuple[str, str], CellRounds], noise: NoiseFloor) -> tuple[Comparison, ...]:
    """Every pair of layers the stack asks for, over every workload both were measured with."""
    found = []
    for layer, below in plan.stack.pairs:
        expected = expected_overhead(layer, below)
        for workload in plan.workloads:
            upper, lower = cells.get((layer.name, workload.key)), cells.get((below.name, workload.key))
            if upper is None or lower is None or not upper.values or not lower.values:
                continue
            one = _pair(upper, lower, expected, noise)
            if one is not None:
                found.append(one)
    return tuple(found)


def _pair(upper: CellRounds, lower: CellRounds, expected: float, noise: NoiseFloor) -> Comparison | None:
    pooled = noise.between_rounds * math.sqrt(2) if noise.rounds > 1 else None
    # A rate counted from n I/Os is known to one in n: rounds that agree on a handful of them agree by rounding.
    steps = [1 / v.ios for side in (upper, lower) for v in side.values]
    coarse = None if pooled is None else math.hypot(pooled, math.sqrt(2) * max(steps))
    iops = _ratio(upper, lower, "iops", coarse)
    if iops is None:
        return None
    latency = {p: r for p in SHOWN_PERCENTILES if (r := _ratio(upper, lower, p, pooled)) is not None}
    found = Comparison(
        layer=upper.layer,
        below=lower.layer,
        workload_key=upper.workload.key,
        iops=iops,
        latency=latency,
        added_ns=_added(upper, lower, noise),
        expected_overhead=expected,
        allowance=expected,
        verdict=equivalence(iops, expected),
    )
    return held_open(found, *((side.workload, side.ios / len(side.values)) for side in (upper, lower)))


def held_open(one: Comparison, *sides: tuple[Workload, float]) -> Comparison:
    """The comparison with no narrower interval than its cells can give, each a workload and its I/Os in one round.

    Of D I/Os that are kept outstanding, up to D are under way where the time of a cell begins and where it ends, and a
    device that serves them in an order of its own completes them in batches: N completions are as good as N ± D. Where
    N is less than D the queue was not served once, and the rate is known to a factor of 1 + D/N.
    """
    known_to = math.prod(1 + w.outstanding / ios for w, ios in sides if w.saturates and 0 < ios < w.outstanding)
    if known_to == 1 or one.iops.low is None or one.iops.high is None:
        return one
    value = one.iops.value
    low, high = min(one.iops.low, value / known_to), max(one.iops.high, value * known_to)
    iops = one.iops.model_copy(update={"low": low, "high": high})
    return one.model_copy(update={"iops": iops, "verdict": equivalence(iops, one.allowance), "unserved": True})


def _shared(upper: CellRounds, lower: CellRounds, metric: str) -> list[tuple[float, float]]:
    a, b = upper.by_round(metric), lower.by_round(metric)
    return [(a[r], b[r]) for r in sorted(a.keys() & b.keys())]


def _ratio(upper: CellRounds, lower: CellRounds, metric: str, pooled: float | None) -> Estimate | None:
    pairs = _shared(upper, lower, metric)
    return estimate([a / b for a, b in pairs], "ratio", pooled) if pairs else None


def _added(upper: CellRounds, lower: CellRounds, noise: NoiseFloor) -> Estimate:
    pairs = _shared(upper, lower, "mean_ns")
    if not pairs:
        return Estimate(value=0.0, low=None, high=None, n=1, unit="ns")
    pooled = None
    if noise.rounds > 1:
        pooled = noise.between_rounds * math.hypot(*(sum(side) / len(pairs) for side in zip(*pairs, strict=True)))
    at, half = centre([a - b for a, b in pairs], pooled)
    if half is None:
        return Estimate(value=at, low=None, high=None, n=1, unit="ns")
    return Estimate(value=at, low=at - half, high=at + half, n=len(pairs), unit="ns")
