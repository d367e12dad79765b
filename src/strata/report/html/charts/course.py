"""IOPS of one cell over its runs: a dot a run, a line a level, a rule where a level begins."""

from __future__ import annotations

from itertools import pairwise

from markupsafe import Markup

from strata import units
from strata.model.history import CellHistory
from strata.report import figures
from strata.report.html.charts import svg
from strata.report.html.charts.svg import linear, linear_ticks, linear_top
from strata.report.html.charts.timeline import short_count

WIDTH, HEIGHT = 480, 210
LEFT, RIGHT, TOP, BOTTOM = 46, 470, 24, 168


def course(ident: str, cell: CellHistory) -> Markup | None:
    """From zero upward, so that a change is as large as it looks; None without runs."""
    if not cell.points:
        return None
    most = max(p.iops for p in cell.points) or 1.0
    high = linear_top(most)
    last = len(cell.points) - 1
    # One run alone stands in the middle: it is neither the first nor the last of anything.
    x = linear(0, last, LEFT + 6, RIGHT - 6) if last else lambda _: (LEFT + RIGHT) / 2
    y = linear(0, high, BOTTOM, TOP)
    drawn = svg.left_axis(LEFT, RIGHT, [(y(tick), short_count(tick)) for tick in linear_ticks(high)])
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
        drawn.append(svg.dot(x(i), y(p.iops), svg.layer_class(0), told))
    drawn += _dates(cell)
    drawn.append(svg.text((LEFT + RIGHT) / 2, HEIGHT - 4, "IOPS by run (dates in UTC)", "axis", "middle"))
    said = f"{figures.plural(len(cell.points), 'run')}, {figures.plural(len(cell.changes), 'change')} of level"
    return svg.picture(ident, f"{cell.layer} {cell.workload_key} over its runs", said, WIDTH, HEIGHT, *drawn)


def _dates(cell: CellHistory) -> list[Markup]:
    """Of the first and the last run, as fine as it takes for them to differ; one date of one run."""
    first, last = (p.created_unix_ns for p in (cell.points[0], cell.points[-1]))
    if first == last:
        return [svg.text((LEFT + RIGHT) / 2, BOTTOM + 16, figures.moments([first])[0], "tick", "middle")]
    days = [moment.partition(" ")[0] for moment in figures.moments([first, last])]
    said = days if days[0] != days[1] else figures.moments([first, last])
    return [svg.text(LEFT, BOTTOM + 16, said[0], "tick"), svg.text(RIGHT, BOTTOM + 16, said[1], "tick", "end")]
