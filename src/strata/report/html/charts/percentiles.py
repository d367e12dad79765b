"""Latency by percentile, one panel a workload, one line a layer. The tail gets as much room as the middle."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from strata import units
from strata.model.analysis import CellSummary
from strata.model.percentiles import BEYOND
from strata.report.html.charts import svg
from strata.report.html.charts.svg import linear, log_range, log_ticks, logarithmic, tail

WIDTH, HEIGHT = 360, 236
LEFT, RIGHT, TOP, BOTTOM = 56, 348, 12, 196
TICKS = (50.0, 90.0, 99.0, 99.9, 99.99)
SEEN = 10
"""I/Os that must lie beyond a percentile before it is drawn at all; firm where they carry it."""

Curve = tuple[tuple[float, float], ...]


def split(cell: CellSummary) -> tuple[Curve, Curve]:
    """The firm part of the curve from the median on, and the part with few samples beyond it (both may be empty)."""

    def beyond(percentile: float) -> float:
        return round(cell.ios * (1 - percentile / 100), 6)

    shown = [(p, ns) for p, ns in cell.curve if p >= TICKS[0] and p <= TICKS[-1] and ns > 0]
    firm = tuple(x for x in shown if beyond(x[0]) >= BEYOND)
    thin = tuple(x for x in shown if BEYOND > beyond(x[0]) >= SEEN)
    return firm, ((firm[-1], *thin) if firm and thin else thin)


def tick_time(ns: float) -> str:
    """``20 ms`` where `units.duration` would say ``20.0 ms``: a tick is exact."""
    number, unit = units.duration(ns).split(" ", 1)
    return f"{float(number):g} {unit}"


def percentiles(ident: str, label: str, cells: Sequence[tuple[int, CellSummary]]) -> Markup | None:
    """The panel of one workload; ``cells`` are (index of the layer, summary). None without any curve."""
    parts = [(i, c, *split(c)) for i, c in cells]
    values = [ns for _, _, firm, thin in parts for _, ns in (*firm, *thin)]
    if not values:
        return None
    low, high = log_range(min(values), max(values))
    x = linear(tail(TICKS[0]), tail(TICKS[-1]), LEFT, RIGHT)
    y = logarithmic(low, high, BOTTOM, TOP)
    drawn = svg.left_axis(LEFT, RIGHT, [(y(tick), tick_time(tick)) for tick in log_ticks(low, high)])
    for tick in TICKS:
        drawn.append(svg.line(x(tail(tick)), TOP, x(tail(tick)), BOTTOM, "grid"))
        last = "end" if tick == TICKS[-1] else "middle"
        drawn.append(svg.text(x(tail(tick)), BOTTOM + 16, f"{tick:g}", "tick", last))
    drawn.append(svg.text((LEFT + RIGHT) / 2, HEIGHT - 6, "percentile of I/Os", "axis", "middle"))
    for index, cell, firm, thin in parts:
        colour = svg.layer_class(index)
        for curve, kind in ((firm, "firm"), (thin, "thin")):
            if len(curve) > 1:
                drawn.append(svg.path([(x(tail(p)), y(ns)) for p, ns in curve], f"curve {kind} {colour}"))
        for p, ns in (*firm, *thin[1:]):
            told = svg.title(f"{cell.layer}: {p:g} % of I/Os within {units.duration(ns)}")
            drawn.append(svg.dot(x(tail(p)), y(ns), colour, told))
    said = "; ".join(
        f"{c.layer}: " + ", ".join(f"p{k} {units.duration(e.value)}" for k, e in c.latency_ns.items()) for _, c in cells
    )
    return svg.picture(ident, f"Latency percentiles of {label}", said, WIDTH, HEIGHT, *drawn)
