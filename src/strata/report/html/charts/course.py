"""IOPS of one cell over its runs: a dot a run, a line a level, a rule where a level begins."""

from __future__ import annotations

from itertools import pairwise

from markupsafe import Markup

from strata import units
from strata.model.history import CellHistory
from strata.report import figures
from strata.report.html.charts import svg
from strata.report.html.charts.scale import linear, linear_ticks
from strata.report.html.charts.timeline import short_count

WIDTH, HEIGHT = 720, 220
LEFT, RIGHT, TOP, BOTTOM = 56, 708, 24, 180


def course(ident: str, cell: CellHistory) -> Markup | None:
    """From zero upward, so that a change is as large as it looks; None without runs."""
    if not cell.points:
        return None
    most = max(p.iops for p in cell.points) or 1.0
    ticks = linear_ticks(most)
    high = ticks[-1] if ticks[-1] >= most else ticks[-1] + ticks[1]
    x = linear(0, max(len(cell.points) - 1, 1), LEFT + 6, RIGHT - 6)
    y = linear(0, high, BOTTOM, TOP)
    drawn: list[Markup] = []
    for tick in linear_ticks(high):
        drawn.append(svg.line(LEFT, y(tick), RIGHT, y(tick), "grid"))
        drawn.append(svg.text(LEFT - 6, y(tick) + 4, short_count(tick), "tick", "end"))
    edges = [0, *(c.index for c in cell.changes), len(cell.points)]
    for start, end in pairwise(edges):
        level = sorted(p.iops for p in cell.points[start:end])[(end - start) // 2]
        drawn.append(svg.path([(x(start), y(level)), (x(end - 1), y(level))], f"curve firm {svg.layer_class(0)}"))
    for change in cell.changes:
        at = (x(change.index - 1) + x(change.index)) / 2
        drawn.append(svg.line(at, TOP, at, BOTTOM, "link"))
        drawn.append(svg.text(at, TOP - 8, figures.signed_percent(change.ratio.value - 1), "figure", "middle"))
    for i, p in enumerate(cell.points):
        told = svg.title(f"{p.run}, {figures.utc(p.created_unix_ns)}: {units.count(p.iops)} IOPS")
        drawn.append(svg.element("circle", told, cx=x(i), cy=y(p.iops), r=2.6, class_=f"dot {svg.layer_class(0)}"))
    first, last = (figures.utc(p.created_unix_ns)[:10] for p in (cell.points[0], cell.points[-1]))
    drawn.append(svg.text(LEFT, HEIGHT - 18, first, "tick"))
    drawn.append(svg.text(RIGHT, HEIGHT - 18, last, "tick", "end"))
    drawn.append(svg.text((LEFT + RIGHT) / 2, HEIGHT - 4, "IOPS, run by run", "axis", "middle"))
    said = f"{figures.plural(len(cell.points), 'run')}, {figures.plural(len(cell.changes), 'change')} of level"
    return svg.picture(ident, f"{cell.layer} {cell.workload_key} over its runs", said, WIDTH, HEIGHT, *drawn)
