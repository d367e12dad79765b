"""From the cells of a sweep to its points, curves and predictions, whether it was measured now or years ago."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

import numpy as np

from strata.analyse.noise import noise_floor
from strata.analyse.rounds import collect
from strata.analyse.scaling.asked import around, what_if
from strata.analyse.scaling.busy import busy_of, capacities, saturated, under_way
from strata.analyse.scaling.cache_end import cache_end
from strata.analyse.scaling.counted import Around
from strata.analyse.scaling.demands import demands_of
from strata.analyse.scaling.fitted import Fitted, LoadPoint, NoCurve, fitted
from strata.analyse.scaling.plateau import Plateau
from strata.analyse.scaling.usl import Usl
from strata.analyse.stats import estimate
from strata.analyse.summary import summarise
from strata.model import histogram
from strata.model.analysis import CellSummary, Generator
from strata.model.axis import Axis
from strata.model.estimate import Estimate
from strata.model.percentiles import supported
from strata.model.plan import Cell, Plan
from strata.model.result import CellResult
from strata.model.scale import OpenPoint, ScaleAsk, ScaleCurve, ScalePoint, ScaleResult, WhatIf
from strata.model.stack import Stack
from strata.model.workload import OpenLoop

SHOWN = ("50", "90", "99", "99.9")
KEPT_UP = 0.98
ROUNDS = 3
"""Of every point, beside a first look: two tell no spread that could be believed."""
BAND = 60
EDGE = 1.96
"""Standard errors from a value to the end of its interval of 95 %."""


def value_of(cell: Cell, axis: Axis) -> int:
    """Where a cell lies on the axis."""
    workload = cell.workload
    if cell.at is not None:
        return cell.at[1]
    if axis is Axis.RANGE:
        return workload.range.length or 0 if workload.range is not None else 0
    return {
        Axis.IODEPTH: workload.arrival.iodepth,
        Axis.THREADS: workload.threads,
        Axis.CLIENTS: workload.clients,
        Axis.NODES: workload.clients,
        Axis.BS: workload.bs,
    }[axis]


def load_of(cell: Cell, axis: Axis) -> float:
    """What the curve is drawn over: I/Os in flight, or the value itself."""
    return float(cell.workload.outstanding if axis.load else value_of(cell, axis))


def closed(plan: Plan) -> tuple[Cell, ...]:
    """The cells that are points of a curve."""
    return tuple(c for c in plan.cells if not isinstance(c.workload.arrival, OpenLoop) and c.skip is None)


def counted_rounds(results: Sequence[CellResult]) -> list[CellResult]:
    """The rounds that tell a point: without the first look, where there are `ROUNDS` more. What is opened for the
    first time is slower than it will be, or faster."""
    ordered = sorted(results, key=lambda r: r.round)
    return ordered[1:] if len(ordered) > ROUNDS else ordered


def points_of(
    plan: Plan, axis: Axis, results: Sequence[CellResult], generator: Generator | None
) -> tuple[ScalePoint, ...]:
    """Every closed-loop cell that gave I/Os, by layer and value."""
    by: dict[str, list[CellResult]] = {}
    for r in results:
        if r.error is None and r.result is not None:
            by.setdefault(r.cell, []).append(r)
    by = {key: counted_rounds(some) for key, some in by.items()}
    rounds = {c.key: collect(c.layer, c.workload, by.get(c.key, [])) for c in closed(plan)}
    noise = {
        layer.name: noise_floor(r for r in rounds.values() if r.layer == layer.name and r.values)
        for layer in plan.stack.layers
    }
    summaries = {key: summarise(r, noise=noise[r.layer]) for key, r in rounds.items()}
    most = {
        layer.name: capacities(s.resources for s in summaries.values() if s is not None and s.layer == layer.name)
        for layer in plan.stack.layers
    }
    found = []
    for cell in closed(plan):
        good, summary = by.get(cell.key, []), summaries[cell.key]
        if summary is None:
            continue
        ceiling = None if generator is None else generator.iops.get(cell.workload.key)
        found.append(
            ScalePoint(
                layer=cell.layer,
                value=value_of(cell, axis),
                outstanding=cell.workload.outstanding,
                workload=cell.workload,
                iops=summary.iops,
                bytes_per_second=summary.bytes_per_second,
                mean_ns=summary.mean_ns,
                latency_ns={p: e for p, e in summary.latency_ns.items() if p in SHOWN} | _at_ends(summary),
                rounds=summary.rounds,
                ios=summary.ios,
                seconds=sum(r.result.seconds for r in good if r.result is not None),
                cycles=summary.cycles,
                busy=busy_of(summary, rounds[cell.key], ceiling, most[cell.layer]),
                rtt_ns=_round_trip(plan, cell.layer, summary),
                in_flight={d.name: d.in_flight for d in summary.resources.disks if d.in_flight is not None},
                under_way=under_way(rounds[cell.key]),
            )
        )
    order = [layer.name for layer in plan.stack.layers]
    return tuple(sorted(found, key=lambda p: (order.index(p.layer), p.value)))


def _at_ends(summary: CellSummary) -> dict[str, Estimate]:
    """What the server and the wire took, ``90.server`` and ``mean.wire``: of the means a sum, of percentiles none.

    Of reads and writes together each has its own: ``mean.read.server``.
    """
    found: dict[str, Estimate] = {}
    both = len({s.direction for s in summary.splits}) > 1
    for one in summary.splits:
        of = f"{one.direction}." if both else ""
        found |= {f"mean.{of}server": one.server_ns, f"mean.{of}wire": one.wire_ns}
        for p in one.percentiles:
            if p.percentile == "90":
                found |= {f"90.{of}server": p.server_ns, f"90.{of}wire": p.difference_ns}
    return found


def _round_trip(plan: Plan, layer: str, summary: CellSummary) -> float | None:
    """To the server of the layer, as the client's connections saw it at the least."""
    host = urlsplit(plan.stack.layer(layer).endpoint).hostname
    mine = [p.least_rtt_ns for p in summary.resources.paths if p.end == "client" and host and p.peer.startswith(host)]
    return max((ns for ns in mine if ns is not None), default=None)


def open_points(plan: Plan, results: Sequence[CellResult], limits: dict[str, float]) -> tuple[OpenPoint, ...]:
    """Every fixed rate of arrivals, its rounds together. ``limits``: IOPS of each layer's curve."""
    found = []
    for cell in plan.cells:
        arrival = cell.workload.arrival
        done = [r.result for r in results if r.cell == cell.key and r.error is None and r.result is not None]
        if not isinstance(arrival, OpenLoop) or not done:
            continue
        merged = histogram.merge([p for r in done for p in (r.read.response_time, r.write.response_time) if p])
        names = supported(SHOWN, sum(r.ops for r in done))
        times = histogram.quantiles(merged, [float(p) / 100 for p in names]) if merged and names else []
        iops = estimate([r.iops for r in done], "IOPS")
        found.append(
            OpenPoint(
                layer=cell.layer,
                share=arrival.iops / limits[cell.layer] if cell.layer in limits else 0.0,
                asked=arrival.iops,
                iops=iops,
                response_ns=dict(zip(names, map(float, times), strict=True)),
                kept_up=iops.value >= (KEPT_UP - 2 / max(1, sum(r.ops for r in done)) ** 0.5) * arrival.iops,
            )
        )
    return tuple(sorted(found, key=lambda p: (p.layer, p.asked)))


def load_points(points: Sequence[ScalePoint], axis: Axis) -> list[LoadPoint]:
    """As the fit takes them: I/Os in flight and IOPS; of what is no load its value, of block sizes bytes per second."""
    found = []
    for p in points:
        rate = p.bytes_per_second if axis is Axis.BS and p.bytes_per_second is not None else p.iops
        half = rate.half_width
        error = 0.0 if half is None or rate.value <= 0 else half / rate.value / EDGE
        found.append(LoadPoint(float(p.outstanding if axis.load else p.value), rate.value, error))
    return found


def fit_of(points: Sequence[ScalePoint], axis: Axis) -> Fitted | NoCurve:
    """The curve of one layer's points."""
    if axis is Axis.RANGE:
        return NoCurve("the working set is not a load: the points show where a cache ends, and no curve is fitted")
    return fitted(load_points(points, axis))


def curve_of(layer: str, points: Sequence[ScalePoint], ask: ScaleAsk, found: Fitted | NoCurve) -> ScaleCurve:
    """As it is reported, in values of the axis."""
    unit = "B/s" if ask.axis is Axis.BS else "IOPS"
    if isinstance(found, NoCurve):
        random = all(p.workload is None or p.workload.rw.random for p in points)
        cache = cache_end(points) if ask.axis is Axis.RANGE and random else None
        return ScaleCurve(layer=layer, refused=found.why, rate_unit=unit, cache=cache)
    per = _per(points, ask.axis)
    knee = found.knee()
    ours = {d.name: d.seconds for d in demands_of(points).each}
    loads = np.geomspace(found.least_load, 1.5 * found.most_load, BAND)
    band = zip(loads.tolist(), found.along(loads, unit), strict=True)
    return ScaleCurve(
        layer=layer,
        form=found.form.value,
        parameters=_parameters(found),
        rms=found.rms,
        rate_unit=unit,
        limit=found.limit(unit),
        limit_at=_scaled(found.limit_at(), per),
        knee=_scaled(knee, per),
        worth=_scaled(found.worth_doubling(ask.worth), per),
        beyond=knee is None or knee.value > found.most_load,
        saturated=saturated(points, None if knee is None else knee.value, ours) if ask.axis.load else None,
        band=tuple((n / per, e.value, _end(e.low, e), _end(e.high, e)) for n, e in band),
    )


def _end(end: float | None, e: Estimate) -> float:
    return e.value if end is None else end


def _parameters(found: Fitted) -> dict[str, float]:
    c = found.curve
    if isinstance(c, Usl):
        return {"alpha": c.contention, "beta": c.crosstalk, "gamma": c.alone}
    assert isinstance(c, Plateau)
    return {"alone": c.alone, "limit": c.limit, "sharpness": c.sharpness}


def _per(points: Sequence[ScalePoint], axis: Axis) -> float:
    """I/Os in flight of one unit of the axis."""
    return points[0].outstanding / points[0].value if axis.load else 1.0


def _scaled(e: Estimate | None, per: float) -> Estimate | None:
    if e is None:
        return None
    low, high = (None if end is None else end / per for end in (e.low, e.high))
    return e.model_copy(update={"value": e.value / per, "low": low, "high": high})


def answered(
    ask: ScaleAsk, layers: Sequence[str], points: Sequence[ScalePoint], stack: Stack | None = None
) -> tuple[tuple[ScaleCurve, ...], tuple[WhatIf, ...]]:
    """The curve of each layer, and every prediction that was asked. ``stack``: what is known of the layers."""
    mine = {layer: [p for p in points if p.layer == layer] for layer in layers}
    fits = {layer: fit_of(some, ask.axis) for layer, some in mine.items()}
    curves, answers = [], []
    for layer, some in mine.items():
        curves.append(curve_of(layer, some, ask, fits[layer]))
        beside = Around() if stack is None else around(stack, layer, fits, mine)
        answers += [what_if(a, layer, some, ask, fits[layer], _per(some, ask.axis), beside) for a in ask.what_if]
    return tuple(curves), tuple(answers)


def result_of(plan: Plan, ask: ScaleAsk, results: Sequence[CellResult], generator: Generator | None) -> ScaleResult:
    """Points, curves and predictions of a sweep; where and when it was measured is not in it yet."""
    points = points_of(plan, ask.axis, results, generator)
    layers = tuple(layer.name for layer in plan.stack.layers if any(p.layer == layer.name for p in points))
    curves, answers = answered(ask, layers, points, plan.stack)
    limits = {c.layer: c.limit.value for c in curves if c.limit is not None}
    return ScaleResult(
        where=plan.stack.name,
        ask=ask,
        layers=layers,
        points=points,
        curves=curves,
        open_points=open_points(plan, results, limits),
        what_if=answers,
        seconds=sum(r.result.seconds for r in results if r.result is not None),
    )
