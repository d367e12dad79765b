"""Observations in words, shared by the rules. Every number is taken from the analysis and carries its unit."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np

from strata import units
from strata.diagnose.case import Pair
from strata.diagnose.evidence import differential, operational
from strata.diagnose.models import Fit, LimitKind, own_part, predict
from strata.diagnose.opinion import Opinion, Weight
from strata.diagnose.rows import Predicted
from strata.diagnose.view import Point, View
from strata.model.finding import Evidence

LITTLE_SLACK = 0.2
HEADROOM = 0.75
MOST_OFF = 2.5
"""Standard errors from what a limit predicts: a slow workload further off is not explained by it."""
MOSTLY = 0.5
"""Of what a fit takes from a workload: less is the constant time's beside the limit, and not the limit's."""


def cells(view: View, points: Iterable[Point]) -> tuple[str, ...]:
    """The links into the data: both layers' cells."""
    return tuple(k for p in points for k in (f"{view.layer.name}/{p.key}", f"{view.below.name}/{p.key}"))


def spread(values: Sequence[float], say: str) -> str:
    """``143–1 143 IOPS`` or one value when they agree within 10 %; ``say`` is count, rate or duration."""
    word = {"count": units.count, "rate": units.rate, "duration": units.duration}[say]
    unit = " IOPS" if say == "count" else ""
    low, high = min(values), max(values)
    if high <= low * 1.1:
        return f"{word(float(np.median(values)))}{unit}"
    return units.span(f"{word(low)}{unit}", f"{word(high)}{unit}")


def times(values: Sequence[float]) -> str:
    """``2.1–3.0`` or one value when they agree within 10 %."""
    low, high = (units.significant(v, 2) for v in (min(values), max(values)))
    return low if max(values) <= min(values) * 1.1 else units.span(low, high)


def stopping(sizes: Sequence[float], at: str) -> str:
    """``3 workloads stop at the same 20 MiB/s over blocks of 8 KiB to 128 KiB``; ``sizes``: in bytes, of each."""
    if len(sizes) == 1:
        return f"1 workload stops at {at} (blocks of {units.size(round(sizes[0]))})"
    low, high = (units.size(round(size)) for size in (min(sizes), max(sizes)))
    over = f"over blocks of {low} to {high}" if low != high else f"at one block size ({low})"
    return f"{len(sizes)} workloads stop at the same {at} {over}"


ANOTHER = "a second workload that stops at the same rate"


def missing_beside(points: Collection[Point]) -> tuple[str, ...]:
    """What is missing where a single workload stops at a limit: whatever slows one has a rate of its own."""
    return () if len(points) > 1 else (ANOTHER,)


def slower(view: View) -> Evidence:
    """Differential: how many workloads cost more than expected, and the worst of them."""
    worst = view.affected[0]
    return differential(
        f"{len(view.affected)} of {units.plural(len(view.points), 'workload')} cost more than expected over "
        f"{view.below.name}; the worst is {worst.workload.label}: {units.count(worst.x)} IOPS, and {view.below.name} "
        f"gives {units.count(worst.x_below)}",
        cells(view, view.affected),
        worst.comparison.iops,
    )


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
        return operational(
            f"{point.workload.label}: of {point.n} outstanding requests about "
            f"{units.significant(below, 2)} are in {view.below.name}, the others wait above it; a request takes "
            f"{units.duration(point.n / point.x * 1e9)} here and {units.duration(point.cycle_below * 1e9)} there",
            cells(view, [point]),
        )
    return None


def busy(points: Iterable[Point]) -> list[float]:
    """CPU shares of the upper layer's cells, where they were read."""
    return [p.upper.cpu_busy for p in points if p.upper.cpu_busy is not None]


def idle_processors(view: View, points: Sequence[Point]) -> Evidence | None:
    """Operational: the CPUs have headroom in these cells."""
    shares = busy(points)
    if not shares or max(shares) >= HEADROOM:
        return None
    return operational(
        f"the CPUs are at most {units.percent(max(shares), 2)} busy in those workloads",
        tuple(view.cell(p) for p in points),
    )


def waits_above(view: View, points: Sequence[Point]) -> tuple[Evidence, ...]:
    """What the operational laws say about cells that something holds back above the layer below."""
    found = (waterfall(view, points), idle_processors(view, points))
    return tuple(e for e in found if e is not None)


def refuted(pair: Pair, shape: LimitKind) -> Opinion:
    """What the best limit of this shape would have made of the cell that fits it least; the cell is the detail."""
    view, found = pair.view, pair.shape(shape)
    worst = max(view.points, key=lambda p: abs(found.residual[p.key]))
    one = np.array([found.parameter])
    low, high = predict(view, worst, shape, found.scope, parameter=one, base=found.base)
    wanted = float(high[0]) if worst.x > high[0] else float(low[0])
    limit = parameter(found)
    if abs(found.residual[worst.key]) < 2:
        return Opinion(False, f"{limit} explains the figures no better", strength=found.explained)
    because = f"{limit} predicts {units.count(wanted)} IOPS, not {units.count(worst.x)}"
    return Opinion(False, because, detail=f"at {worst.workload.label}", strength=found.explained)


def parameter(found: Fit) -> str:
    """The limit in words."""
    if found.shape is LimitKind.BANDWIDTH:
        return f"a limit of {units.rate(found.parameter)}"
    if found.shape is LimitKind.CAP:
        return f"a cap of {units.count(found.parameter)} IOPS"
    time = units.duration(found.parameter * 1e9)
    return f"{time} more per request" if found.shape is LimitKind.DELAY else f"{time} per request, one at a time"


def shown(
    view: View,
    points: Collection[Point],
    seen: str,
    *,
    rows: Iterable[Predicted] = (),
    held_up: bool = False,
    **said: Any,
) -> Opinion:
    """What counters show of these slow workloads of a layer over another: ``seen`` in them, beside what they lose.

    ``rows``: what the cause predicts of them; ``held_up``: with the operational laws; ``said``: as in `Opinion`.
    """
    return Opinion(
        weight=Weight.SHOWN,
        cells=frozenset(p.key for p in points),
        rows=tuple(f.row(view) for f in rows),
        evidence=(
            slower(view),
            operational(seen, cells(view, points)),
            *(waits_above(view, view.affected) if held_up else ()),
        ),
        **said,
    )


def bound(view: View, found: Fit) -> list[Point]:
    """The workloads that the limit itself holds, and not the constant time that was fitted beside it."""
    return [p for p in view.points if p.key in found.binding and own_part(view, [p], found) >= MOSTLY]


def beside(found: Fit) -> str:
    """What was fitted beside the limit, as an effect of its own; nothing where nothing was."""
    if found.base <= 0 or found.shape not in (LimitKind.BANDWIDTH, LimitKind.CAP):
        return ""
    return f" Each request also takes {units.duration(found.base * 1e9)} longer, which this limit does not explain."


def fitted(pair: Pair, found: Fit, points: Collection[Point], explains: str, *more: Evidence, **said: Any) -> Opinion:
    """What the shape of the losses suggests: one limit that ``explains`` them, shown by these workloads.

    ``more``: other evidence; ``said``: as in `Opinion`.
    """
    view = pair.view
    near = {p.key for p in view.affected if abs(found.residual[p.key]) <= MOST_OFF}
    mine = {p.key for p in view.points if own_part(view, [p], found) >= MOSTLY}
    evidence = (
        slower(view),
        differential(explains, cells(view, points)),
        *more,
        *waits_above(view, view.affected),
    )
    given: dict[str, Any] = {"cells": (found.binding | near) & mine, "strength": found.explained}
    said["explanation"] += beside(found)
    return Opinion(model=found, evidence=evidence, **(given | said))
