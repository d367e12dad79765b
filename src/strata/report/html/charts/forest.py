"""Changes of many cells at a glance: B ÷ A of each on a logarithmic axis, with its interval and the margin."""

from __future__ import annotations

import math
from collections.abc import Sequence

from markupsafe import Markup

from strata.model.compared import CellCompared, Change
from strata.report import figures
from strata.report.compare_lines import MARK, change
from strata.report.html.charts import svg
from strata.report.html.charts.svg import Scale, logarithmic

WIDTH, LEFT, RIGHT, TOP, ROW, BELOW = 480, 14, 466, 24, 34, 34
LEAST, MOST = 0.01, 100.0
"""Beyond these an interval is drawn to the edge; the figure beside it is whole."""
TICKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 0.8, 0.9, 1.0, 1.1, 1.25, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
ROOM = 34
"""Least distance of two ticks, px."""
DRAWN_MOST = 40
"""Cells: more of them are a table's business, not a picture's."""


def forest(ident: str, cells: Sequence[CellCompared], margin: float) -> Markup | None:
    """Each cell's name stands above its whisker, so that neither runs through the other; None without cells."""
    if not cells:
        return None
    known = [x for c in cells for x in (c.iops.value, c.iops.low, c.iops.high) if x is not None]
    low = max(LEAST, min(*known, 1 - 2 * margin, 0.9))
    high = min(MOST, max(*known, 1 + 2 * margin, 1.1))
    x = logarithmic(low / 1.03, high * 1.03, LEFT, RIGHT)
    bottom = TOP + ROW * len(cells)
    drawn = [svg.rect(x(1 - margin), TOP, x(1 + margin) - x(1 - margin), bottom - TOP, "margin")]
    for tick in _ticks(low, high, x):
        drawn.append(svg.line(x(tick), TOP, x(tick), bottom, "grid" if tick != 1 else "link"))
        drawn.append(svg.text(x(tick), bottom + 15, f"{tick:g}", "tick", "middle"))
    drawn.append(svg.text((LEFT + RIGHT) / 2, bottom + 30, "IOPS of B ÷ IOPS of A", "axis", "middle"))
    for n, cell in enumerate(cells):
        drawn += _row(cell, TOP + n * ROW, x, (low, high))
    said = "; ".join(f"{c.name}: {c.verdict.value}, {change(c.iops)}" for c in cells)
    return svg.picture(ident, "Changes of cells", said, WIDTH, bottom + BELOW, *drawn)


def _row(cell: CellCompared, top: float, x: Scale, span: tuple[float, float]) -> list[Markup]:
    middle = top + ROW - 10
    ends = [min(max(e, span[0]), span[1]) for e in (cell.iops.low, cell.iops.high) if e is not None]
    kind = {Change.SLOWER: "slow", Change.FASTER: "fast"}.get(cell.verdict, "even")
    told = svg.title(f"{cell.layer} · {cell.label}: {change(cell.iops)}, {cell.verdict.value}")
    drawn = [svg.text(LEFT, top + 11, f"{cell.layer} · {cell.label}", "name")]
    drawn.append(svg.text(RIGHT, top + 11, f"{figures.signed_percent(cell.iops.value - 1)} {MARK[cell.verdict]}",
                          "figure", "end"))  # fmt: skip
    if len(ends) == 2:
        drawn.append(svg.line(x(ends[0]), middle, x(ends[1]), middle, "whisker"))
    at = x(min(max(cell.iops.value, span[0]), span[1]))
    drawn.append(svg.element("circle", told, cx=at, cy=middle, r=4.0, class_=f"change {kind}"))
    return drawn


def _ticks(low: float, high: float, x: Scale) -> list[float]:
    """Equality always, the others as far as there is room; the farther from it, the sooner left out."""
    kept = [1.0]
    for tick in sorted(TICKS, key=lambda t: -abs(math.log(t))):
        if low <= tick <= high and all(abs(x(tick) - x(k)) >= ROOM for k in kept):
            kept.append(tick)
    return sorted(kept)
