"""From the cells of a sweep to its points, curves and predictions, whether it was measured now or years ago."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from strata import units
from strata.analyse.scaling import whatif
from strata.analyse.scaling.busy import busy_of, saturated
from strata.analyse.scaling.fitted import Fitted, LoadPoint, NoCurve, fitted
from strata.analyse.scaling.network import Network
from strata.analyse.scaling.plateau import Plateau
from strata.analyse.scaling.usl import Usl
from strata.analyse.scaling.whatif import Demand, Demands
from strata.analyse.series.longrun import Floats
from strata.analyse.stats import estimate
from strata.analyse.summary import cell_summary
from strata.model import histogram
from strata.model.analysis import Generator
from strata.model.estimate import Estimate
from strata.model.percentiles import supported
from strata.model.plan import Cell, Plan
from strata.model.result import CellResult
from strata.model.scale import Axis, OpenPoint, ScaleAsk, ScaleCurve, ScalePoint, ScaleResult, WhatIf
from strata.model.workload import OpenLoop, Workload

SHOWN = ("50", "90", "99", "99.9")
KEPT_UP = 0.98
BAND = 60
LEAST_POINTS, TOLD = 4, 3.0
"""Points of a demand at least, and standard errors that its slope has to lie above nothing."""
EDGE = 1.96
"""Standard errors from a value to the end of its interval of 95 %."""


def value_of(workload: Workload, axis: Axis) -> int:
    """Where a workload lies on the axis."""
    if axis is Axis.RANGE:
        return workload.range.length or 0 if workload.range is not None else 0
    return {Axis.IODEPTH: workload.arrival.iodepth, Axis.THREADS: workload.threads, Axis.BS: workload.bs}[axis]


def closed(plan: Plan) -> tuple[Cell, ...]:
    """The cells that are points of a curve."""
    return tuple(c for c in plan.cells if not isinstance(c.workload.arrival, OpenLoop) and c.skip is None)


def points_of(
    plan: Plan, axis: Axis, results: Sequence[CellResult], generator: Generator | None
) -> tuple[ScalePoint, ...]:
    """Every closed-loop cell that gave I/Os, by layer and value."""
    by: dict[str, list[CellResult]] = {}
    for r in results:
        by.setdefault(r.cell, []).append(r)
    found = []
    for cell in closed(plan):
        rounds = by.get(cell.key, [])
        good = [r for r in rounds if r.error is None and r.result is not None]
        summary = cell_summary(cell.layer, cell.workload, good)
        if summary is None:
            continue
        ceiling = None if generator is None else generator.iops.get(cell.workload.key)
        found.append(
            ScalePoint(
                layer=cell.layer,
                value=value_of(cell.workload, axis),
                outstanding=cell.workload.outstanding,
                workload=cell.workload,
                iops=summary.iops,
                bytes_per_second=summary.bytes_per_second,
                mean_ns=summary.mean_ns,
                latency_ns={p: e for p, e in summary.latency_ns.items() if p in SHOWN},
                rounds=summary.rounds,
                ios=summary.ios,
                seconds=sum(r.result.seconds for r in good if r.result is not None),
                cycles=summary.cycles,
                busy=busy_of(summary, good, ceiling),
            )
        )
    order = [layer.name for layer in plan.stack.layers]
    return tuple(sorted(found, key=lambda p: (order.index(p.layer), p.value)))


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
    """As the fit takes them: I/Os in flight and IOPS; where the block size grows, it and bytes per second."""
    found = []
    for p in points:
        rate = p.bytes_per_second if axis is Axis.BS and p.bytes_per_second is not None else p.iops
        half = rate.half_width
        error = 0.0 if half is None or rate.value <= 0 else half / rate.value / EDGE
        found.append(LoadPoint(float(p.value if axis is Axis.BS else p.outstanding), rate.value, error))
    return found


def fit_of(points: Sequence[ScalePoint], axis: Axis) -> Fitted | NoCurve:
    """The curve of one layer's points."""
    if axis is Axis.RANGE:
        return NoCurve("the working set is no load: the points tell where a cache ends, and no curve is drawn")
    return fitted(load_points(points, axis))


def curve_of(layer: str, points: Sequence[ScalePoint], ask: ScaleAsk, found: Fitted | NoCurve) -> ScaleCurve:
    """As it is reported, in values of the axis."""
    unit = "B/s" if ask.axis is Axis.BS else "IOPS"
    if isinstance(found, NoCurve):
        return ScaleCurve(layer=layer, refused=found.why, rate_unit=unit)
    per = _per(points, ask.axis)
    knee = found.knee()
    ours = {d.name: d.seconds for d in demands_of(points).each}
    loads = np.geomspace(found.least_load, 1.5 * found.most_load, BAND)
    band = [(float(n), found.at(float(n), unit)) for n in loads]
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
    return 1.0 if axis is Axis.BS else points[0].outstanding / points[0].value


def _scaled(e: Estimate | None, per: float) -> Estimate | None:
    if e is None:
        return None
    low, high = (None if end is None else end / per for end in (e.low, e.high))
    return e.model_copy(update={"value": e.value / per, "low": low, "high": high})


def demands_of(points: Sequence[ScalePoint]) -> Demands:
    """What each I/O asks of every counted resource: the slope of its use over the rate, of all points.

    What a resource does for others, or at rest, is the use at a rate of nothing: it takes away from what there is, and
    is no demand. A resource whose use does not follow the rate has none that could be told.
    """
    each = []
    for name in dict.fromkeys(b.name for p in points for b in p.busy if b.servers and b.demand_ns is not None):
        used = [
            (p.iops.value, b.share * (b.servers or 0.0), b.servers or 0.0)
            for p in points
            for b in p.busy
            if b.name == name
        ]
        x, y, servers = (np.array(column) for column in zip(*used, strict=True))
        found = _slope(x, y)
        if found is not None:
            slope, error, rest = found
            # Never more than a twentieth less than what was seen at work: the line is not the counter.
            least = max(float(servers[-1]) - max(rest, 0.0), 0.95 * float((y - max(rest, 0.0)).max()), 1e-6)
            each.append(Demand(name, slope, least, error))
    return Demands(tuple(each))


def _slope(x: Floats, y: Floats) -> tuple[float, float, float] | None:
    """(slope, its standard error as a share, use at rest); None where it is not clearly above nothing."""
    if len(x) < LEAST_POINTS or float(np.ptp(x)) <= 0:
        return None
    middle = x - x.mean()
    slope = float(middle @ y / (middle @ middle))
    rest = float(y.mean() - slope * x.mean())
    left = y - slope * x - rest
    error = float(np.sqrt(left @ left / (len(x) - 2) / (middle @ middle)))
    return (slope, error / slope, rest) if slope > TOLD * error else None


def what_if(asked: str, layer: str, points: Sequence[ScalePoint], ask: ScaleAsk, found: Fitted | NoCurve) -> WhatIf:
    """One change at one layer: ``NAME=VALUE``, where VALUE is an amount or ``2x``; ``@N`` behind it: at that value of
    the axis, and not at the largest that was measured."""
    name, _, text = asked.partition("=")
    text, _, place = text.partition("@")
    name = name.strip().lower()
    if isinstance(found, NoCurve):
        return WhatIf(asked=asked, layer=layer, refused=f"there is no curve to predict from: {found.why}")
    if not ask.axis.load:
        return WhatIf(asked=asked, layer=layer, refused=f"a sweep over {ask.axis.value} has no load to predict from")
    per, last = _per(points, ask.axis), points[-1]
    at = float(place) * per if place else float(last.outstanding)
    if name == ask.axis.value:
        value = _amount(text, float(last.value))
        made = whatif.at_load(found, value * per, at)
        rests = f"the curve over {ask.axis.value}, {found.form.value}, rms {units.percent(found.rms)}"
        rests += f"; {value:g} was not measured and lies beyond the largest value" if made.beyond else ""
        return _told(asked, layer, made, per, rests)
    demands = demands_of(points)
    network = whatif.network_of(found, demands)
    known = {s.name: s.servers for s in network.stations} | {whatif.DELAY: None}
    if name not in known:
        return WhatIf(asked=asked, layer=layer, refused=f"{name} has no measured demand here: {', '.join(known)} have")
    factor = _factor(name, text, network, demands)
    made = whatif.with_change(found, demands, name, factor, at)
    each = [f"{d.name} {units.duration(d.seconds * 1e9)} on {d.servers:g}" for d in demands.each]
    if any(s.name == whatif.LIMIT for s in network.stations):
        each.append(f"a limit of {units.count(network.most)} IOPS that no counter names")
    rests = f"demands of an I/O over all points: {'; '.join(each)}; "
    rests += f"and {units.duration(network.delay * 1e9)} in which it waits for nobody"
    if made.beyond and factor > 1:
        rests += f". Then {made.full} is full first; what was never near its limit may be full earlier"
    return _told(asked, layer, made, per, rests)


def _told(asked: str, layer: str, made: whatif.ChangeGain, per: float, rests: str) -> WhatIf:
    return WhatIf(
        asked=asked, layer=layer, load=made.load / per, now=made.now, rate=made.rate, gain=made.gain, rests_on=rests
    )


def _factor(name: str, text: str, network: Network, demands: Demands) -> float:
    """How many times as much of it ``text`` asks for: ``2x``, or an amount in the resource's own unit."""
    if text.strip().endswith("x"):
        return _amount(text, 1.0)
    if name == whatif.DELAY:
        return units.parse_duration_ns(text) / 1e9 / max(network.delay, 1e-12)
    amount = _amount(text, 1.0)
    if name == whatif.LIMIT:
        return amount / network.most
    return amount / next(d.servers for d in demands.each if d.name == name)


def _amount(text: str, of: float) -> float:
    text = text.strip().lower()
    return float(text[:-1]) * of if text.endswith("x") else float(text)


def answered(
    ask: ScaleAsk, layers: Sequence[str], points: Sequence[ScalePoint]
) -> tuple[tuple[ScaleCurve, ...], tuple[WhatIf, ...]]:
    """The curve of each layer, and every prediction that was asked."""
    curves, answers = [], []
    for layer in layers:
        mine = [p for p in points if p.layer == layer]
        found = fit_of(mine, ask.axis)
        curves.append(curve_of(layer, mine, ask, found))
        answers += [what_if(asked, layer, mine, ask, found) for asked in ask.what_if]
    return tuple(curves), tuple(answers)


def result_of(plan: Plan, ask: ScaleAsk, results: Sequence[CellResult], generator: Generator | None) -> ScaleResult:
    """Points, curves and predictions of a sweep; where and when it was measured is not in it yet."""
    points = points_of(plan, ask.axis, results, generator)
    layers = tuple(layer.name for layer in plan.stack.layers if any(p.layer == layer.name for p in points))
    curves, answers = answered(ask, layers, points)
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
