"""One pattern of a matrix as a heat map: depth down, size across, colour by IOPS on a logarithmic scale.

Colour never stands alone: the figure is in every square, and what is not plainly measured has a sign of its own:
smoothed cells are hatched, kinks have a firm frame, cells that moved a dashed one, cells that were not measured are
empty.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from markupsafe import Markup

from strata import units
from strata.model.matrix import Given, MatrixCell
from strata.report import figures
from strata.report.html.charts import svg
from strata.report.matrix_text import error, short

CELL_W, CELL_H = 74, 40
LEFT, TOP = 52, 22
STEPS = 9
"""Shades, classes ``heat-0`` … ``heat-8``."""


def heatmap(
    ident: str, name: str, cells: Sequence[MatrixCell], depths: Sequence[int], sizes: Sequence[int]
) -> Markup | None:
    """None where no cell has a value. Each square says its figures to a pointer and to a screen reader."""
    known = [c.iops.value for c in cells if c.iops is not None]
    if not known:
        return None
    low, high = math.log(min(known)), math.log(max(known))
    by = {(c.iodepth, c.bs): c for c in cells}
    width, height = LEFT + CELL_W * len(sizes) + 4, TOP + CELL_H * len(depths) + 26
    drawn: list[Markup] = [_hatch(ident)]
    for column, size in enumerate(sizes):
        drawn.append(svg.text(LEFT + CELL_W * (column + 0.5), TOP - 8, units.size(size), "tick", "middle"))
    for row, depth in enumerate(depths):
        y = TOP + CELL_H * row
        drawn.append(svg.text(LEFT - 8, y + CELL_H / 2 + 4, str(depth), "tick", "end"))
        for column, size in enumerate(sizes):
            drawn.append(_square(ident, by.get((depth, size)), LEFT + CELL_W * column, y, low, high))
    drawn.append(svg.text(LEFT - 8, TOP - 8, "depth", "axis", "end"))
    drawn.append(svg.text(LEFT, height - 6, "IOPS, and half of the 95 % interval as a share of it", "axis"))
    smoothed = sum(c.given is Given.SMOOTHED for c in cells)
    told = f"{figures.plural(len(known), 'cell')} from {short(min(known))} to {short(max(known))} IOPS, "
    told += f"{smoothed} smoothed, {sum(c.kink for c in cells)} kinks"
    return svg.picture(ident, name, told, width, height, *drawn)


def said(cell: MatrixCell) -> str:
    """One cell in a sentence."""
    where = f"{units.size(cell.bs)}, depth {cell.iodepth}"
    if cell.iops is None:
        return f"{where}: not measured ({cell.why or 'the budget did not reach it'})"
    one = cell.iops
    parts = [f"{where}: {units.count(one.value)} IOPS, {cell.given.value}"]
    if one.low is not None and one.high is not None:
        parts.append(f"95 % interval {units.count(one.low)} to {units.count(one.high)}")
    if cell.measured is not None and cell.given is Given.SMOOTHED:
        parts.append(f"measured {units.count(cell.measured.value)}")
    if cell.smoothed is not None and cell.given is Given.MEASURED:
        parts.append(f"its neighbours say {units.count(cell.smoothed.value)}")
    parts.append(f"{figures.plural(cell.visits, 'visit')}, {cell.seconds:.1f} s")
    if cell.mean_ns is not None:
        parts.append(f"mean {units.duration(cell.mean_ns)}")
    if cell.p99_ns is not None:
        parts.append(f"p99 {units.duration(cell.p99_ns)}")
    parts += ["a kink: kept as measured"] * cell.kink + ["not of one level from visit to visit"] * cell.moved
    parts += ["near the generator's own limit"] * cell.generator_bound
    return ", ".join(parts)


def _square(ident: str, cell: MatrixCell | None, x: float, y: float, low: float, high: float) -> Markup:
    w, h = CELL_W - 3, CELL_H - 3
    if cell is None:
        return svg.rect(x, y, w, h, "square none")
    if cell.iops is None:
        return svg.rect(x, y, w, h, "square none", svg.title(said(cell)))
    level = (math.log(cell.iops.value) - low) / ((high - low) or 1.0)
    shade = min(STEPS - 1, int(level * STEPS))
    frame = " moved" if cell.moved else " kink" if cell.kink else ""
    ink = "on-dark" if shade >= STEPS // 2 + 1 else "on-light"
    parts = [svg.title(said(cell)), svg.rect(x, y, w, h, f"square heat-{shade}{frame}")]
    if cell.given is Given.SMOOTHED:
        parts.append(
            svg.element("rect", x=float(x), y=float(y), width=float(w), height=float(h), fill=f"url(#{ident}-hatch)")
        )
    middle = x + w / 2
    parts.append(svg.text(middle, y + h / 2 - 1, short(cell.iops.value), f"figure {ink}", "middle"))
    parts.append(svg.text(middle, y + h / 2 + 12, error(cell), f"error-of {ink}", "middle"))
    return svg.element("g", *parts, class_="cell", tabindex="0")


def _hatch(ident: str) -> Markup:
    stripe = svg.line(0, 0, 0, 7, "hatch")
    pattern = svg.element(
        "pattern", stripe, id=f"{ident}-hatch", width=7.0, height=7.0, patternUnits="userSpaceOnUse",
        patternTransform="rotate(45)",
    )  # fmt: skip
    return svg.element("defs", pattern)
