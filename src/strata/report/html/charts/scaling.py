"""A rate over its load: the points with their intervals, the fitted curve with its band, the knee and the limit."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from strata import units
from strata.model.axis import Axis
from strata.model.scale import ScaleCurve, ScalePoint, WhatIf
from strata.report import figures, scale_text
from strata.report.html.charts import svg
from strata.report.html.charts.svg import linear, linear_ticks, linear_top, log_ticks, logarithmic
from strata.report.html.charts.timeline import short_count

WIDTH, HEIGHT = 760, 360
LEFT, RIGHT, TOP, BOTTOM = 66, 740, 30, 306


def scaling(
    ident: str, points: Sequence[ScalePoint], curve: ScaleCurve, axis: Axis, answers: Sequence[WhatIf] = ()
) -> Markup | None:
    """None without points. Rates from zero upward, so that a gain is as large as it looks; loads on a logarithm."""
    if not points:
        return None
    rates = [(p, p.bytes_per_second if axis is Axis.BS and p.bytes_per_second else p.iops) for p in points]
    told = [(a.load, a.rate, a) for a in answers if a.load is not None and a.rate is not None]
    tops = [e.high or e.value for _, e in rates] + [e.high or e.value for _, e, _ in told]
    limit = None if curve.limit is None or curve.beyond else curve.limit.value
    high = linear_top(max([*tops, limit or 0.0]))
    loads = [float(p.value) for p in points] + [float(x) for x, _, _ in told]
    low_load, high_load = min(loads), max([*loads, *(n for n, *_ in curve.band)])
    x = logarithmic(low_load, max(high_load, low_load * 2), LEFT + 8, RIGHT)
    y = linear(0, high, BOTTOM, TOP)
    shown = units.rate if axis is Axis.BS else short_count
    drawn = svg.left_axis(LEFT, RIGHT, [(y(t), shown(t)) for t in linear_ticks(high)])
    for tick in _ticks(low_load, high_load, axis):
        drawn.append(svg.line(x(tick), TOP, x(tick), BOTTOM, "grid"))
        drawn.append(svg.text(x(tick), BOTTOM + 16, scale_text.value_words(tick, axis), "tick", "middle"))
    drawn.append(svg.text((LEFT + RIGHT) / 2, HEIGHT - 8, f"{axis.value} (logarithmic)", "axis", "middle"))
    drawn.append(svg.text(LEFT, TOP - 14, "B/s" if axis is Axis.BS else "IOPS", "axis", "end"))
    drawn += _curve(curve, x, y)
    drawn += _marks(curve, axis, x, y, limit)
    for p, e in rates:
        at = x(float(p.value))
        if e.low is not None and e.high is not None:
            drawn.append(svg.line(at, y(e.low), at, y(min(e.high, high)), f"whisker {svg.layer_class(0)}"))
        note = f"{axis.value} {scale_text.value_words(p.value, axis)}: {figures.measured(e)}; {scale_text.busiest(p)}"
        drawn.append(svg.dot(at, y(e.value), svg.layer_class(0), svg.title(note)))
    for load, e, answer in told:
        at = x(load)
        if e.low is not None and e.high is not None:
            drawn.append(svg.line(at, y(max(e.low, 0)), at, y(min(e.high, high)), f"whisker {svg.layer_class(1)}"))
        drawn.append(
            svg.dot(at, y(e.value), svg.layer_class(1), svg.title(" ".join(scale_text.what_if_lines(answer, axis))))
        )
        drawn.append(svg.text(at + 4, y(min(e.high or e.value, high)) - 6, f"if {answer.asked}", "figure", "end"))
    said = "; ".join(scale_text.curve_lines(curve, axis))
    return svg.picture(ident, f"{curve.layer} over {axis.value}", said, WIDTH, HEIGHT, *drawn)


def _ticks(low: float, high: float, axis: Axis) -> Sequence[float]:
    if axis.size:
        found, at = [], 512.0
        while at <= high * 1.01:
            if at >= low * 0.99:
                found.append(at)
            at *= 2
        return found
    return [t for t in (2.0**k for k in range(13)) if low * 0.99 <= t <= high * 1.01] or log_ticks(low, high)


def _curve(curve: ScaleCurve, x: svg.Scale, y: svg.Scale) -> list[Markup]:
    """The band below the line that goes through its middle."""
    if not curve.band:
        return []
    upper = [(x(n), max(y(high), TOP)) for n, _, _, high in curve.band]
    lower = [(x(n), y(low)) for n, _, low, _ in reversed(curve.band)]
    points = " ".join(f"{svg.coordinate(a)},{svg.coordinate(b)}" for a, b in (*upper, *lower))
    line = [(x(n), max(y(v), TOP)) for n, v, _, _ in curve.band]
    return [svg.element("polygon", points=points, class_="reach"), svg.path(line, f"curve firm {svg.layer_class(0)}")]


def _marks(curve: ScaleCurve, axis: Axis, x: svg.Scale, y: svg.Scale, limit: float | None) -> list[Markup]:
    found = []
    if limit is not None:
        found.append(svg.line(LEFT, y(limit), RIGHT, y(limit), "link"))
        assert curve.limit is not None
        words = figures.amount(curve.limit.value, curve.limit.unit)
        found.append(svg.text(RIGHT - 4, y(limit) + 18, f"limit {words}", "figure", "end"))
    if curve.knee is not None and not curve.beyond:
        at = x(curve.knee.value)
        found.append(svg.line(at, TOP, at, BOTTOM, "link"))
        words = scale_text.between(curve.knee, axis)
        found.append(svg.text(at + 6, BOTTOM - 8, f"knee {words}", "figure"))
    return found
