"""A request's time along its path: a row for each part of each layer, each bar where the one before it ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from strata import units
from strata.report.html.charts import svg
from strata.report.html.charts.svg import linear, linear_ticks

WIDTH, LEFT, RIGHT, TOP, ROW, BAR = 900, 240, 800, 6, 24, 14
_NAME_MOST = 36


@dataclass(frozen=True)
class PathBar:
    """A bar: ``waits`` is drawn hollow. ``start_ns`` and ``ns`` from the request's beginning."""

    name: str
    layer: int
    waits: bool
    start_ns: float
    ns: float


def path_chart(ident: str, label: str, bars: Sequence[PathBar], whole_ns: float, axis: str) -> Markup | None:
    """The picture; None without bars or without time."""
    if not bars or whole_ns <= 0:
        return None
    power, unit = next(
        u for u in ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns")) if whole_ns >= u[0] or u[0] == 1.0
    )
    ticks = linear_ticks(whole_ns / power)
    high = max(ticks[-1], whole_ns / power)
    x = linear(0, high * power, LEFT, RIGHT)
    bottom = TOP + ROW * len(bars)
    drawn: list[Markup] = []
    for tick in ticks:
        drawn.append(svg.line(x(tick * power), TOP, x(tick * power), bottom, "grid"))
        drawn.append(svg.text(x(tick * power), bottom + 15, f"{tick:g}", "tick", "middle"))
    drawn.append(svg.text((LEFT + RIGHT) / 2, bottom + 32, f"{axis}, {unit}", "axis", "middle"))
    for n, bar in enumerate(bars):
        top = TOP + n * ROW
        kind = "bar saved" if bar.waits else "bar"
        begin, end = x(bar.start_ns), x(bar.start_ns + bar.ns)
        name = bar.name if len(bar.name) <= _NAME_MOST else bar.name[: _NAME_MOST - 1] + "…"
        drawn.append(
            svg.element(
                "g",
                svg.text(LEFT - 8, top + ROW / 2 + 4, name, "", "end"),
                svg.rect(begin, top + (ROW - BAR) / 2, max(end - begin, 1.0), BAR, kind),
                svg.text(max(end, begin + 1) + 6, top + ROW / 2 + 4, units.duration(bar.ns), "figure"),
                class_=svg.layer_class(bar.layer),
            )
        )
    said = "; ".join(f"{b.name}: {units.duration(b.ns)}" for b in bars)
    return svg.picture(ident, label, said, WIDTH, int(bottom) + 40, *drawn)
