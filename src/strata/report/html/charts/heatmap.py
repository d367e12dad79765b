"""One pattern of a matrix as a heat map: depth down, size across, colour by one quantity on a logarithmic scale.

Colour never stands alone: the figure is in every square, and what is not plainly measured has a sign of its own:
smoothed cells have a hatched edge, kinks a firm frame, cells that moved a dashed one, cells that were not measured are
empty. Every figure has a contrast of at least 4.5 : 1 to its square (a test asks all of them).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from markupsafe import Markup

from strata import units
from strata.model.matrix import Given, MatrixCell
from strata.model.percentiles import PERCENTILES
from strata.report import figures
from strata.report.html.charts import svg
from strata.report.matrix_text import error, short

CELL_W, CELL_H, EDGE = 76, 40, 9
LEFT, TOP = 52, 22
STEPS, DARK = 9, 6
"""Shades, classes ``heat-0`` … ``heat-8``; from ``heat-DARK`` on the figures are white."""


@dataclass(frozen=True)
class Quantity:
    """What a map shows: its name, what darker means, how it is read from a cell and written into its square.

    ``rate``: it is the cell's rate in another unit, so that the interval and the signs of the rate are its own.
    """

    name: str
    darker: str
    read: Callable[[MatrixCell], float | None]
    write: Callable[[float], str]
    rate: bool = False


QUANTITIES = (
    Quantity("IOPS", "more", lambda c: None if c.iops is None else c.iops.value, short, rate=True),
    Quantity("MiB/s", "more", lambda c: c.bytes_per_second, lambda v: short(v / units.MIB), rate=True),
    Quantity("mean", "longer", lambda c: c.mean_ns, units.duration),
    Quantity("p99", "longer", lambda c: c.p99_ns, units.duration),
)
PERCENTILE_MAPS = tuple(
    Quantity(f"p{name}", "longer", partial(MatrixCell.percentile_ns, percentile=name), units.duration)
    for name in PERCENTILES
    if name != "99"
)
"""Of all that are kept beside p99."""


def width_of(sizes: Sequence[int]) -> int:
    """Of a map, px."""
    return LEFT + CELL_W * len(sizes) + 4


def ink(shade: int) -> str:
    """The class of a figure on that shade."""
    return "on-dark" if shade >= DARK else "on-light"


def heatmap(
    ident: str, name: str, quantity: Quantity, cells: Sequence[MatrixCell], depths: Sequence[int], sizes: Sequence[int]
) -> Markup | None:
    """None where no cell has a value. Each square says its figures to a pointer; those of the first quantity, which say
    all of a cell, to a screen reader and on keyboard focus."""
    known = [v for c in cells if (v := quantity.read(c))]
    if not known:
        return None
    shades = svg.logarithmic(min(known), max(known), 0, STEPS)
    by = {(c.iodepth, c.bs): c for c in cells}
    width, height = width_of(sizes), TOP + CELL_H * len(depths) + 4
    drawn: list[Markup] = [_hatch(ident)] if quantity.rate else []
    for column, size in enumerate(sizes):
        drawn.append(svg.text(LEFT + CELL_W * (column + 0.5), TOP - 8, units.size(size), "tick", "middle"))
    for row, depth in enumerate(depths):
        y = TOP + CELL_H * row
        drawn.append(svg.text(LEFT - 8, y + CELL_H / 2 + 4, str(depth), "tick", "end"))
        for column, size in enumerate(sizes):
            drawn.append(_square(ident, quantity, by.get((depth, size)), LEFT + CELL_W * column, y, shades))
    drawn.append(svg.text(LEFT - 8, TOP - 8, "depth", "axis", "end"))
    told = f"{figures.plural(len(known), 'cell')} from {quantity.write(min(known))} to {quantity.write(max(known))}"
    if quantity.rate:
        smoothed = sum(c.given is Given.SMOOTHED for c in cells)
        told += f", {smoothed} smoothed, {sum(c.kink for c in cells)} kinks"
    return svg.picture(ident, name, told, width, height, *drawn)


def said(cell: MatrixCell) -> str:
    where = _where(cell)
    if cell.iops is None:
        return f"{where}: not measured ({cell.why or 'out of budget'})"
    one = cell.iops
    both = one.low is not None and one.high is not None
    measured = cell.measured if cell.given is Given.SMOOTHED else None
    smoothed = cell.smoothed if cell.given is Given.MEASURED else None
    parts = (
        f"{where}: {units.count(one.value)} IOPS, {cell.given.value}",
        f"95 % interval {units.count(one.low or 0)} to {units.count(one.high or 0)}" if both else "",
        f"measured {units.count(measured.value)}" if measured is not None else "",
        f"from its neighbours {units.count(smoothed.value)}" if smoothed is not None else "",
        f"{figures.plural(cell.visits, 'visit')}, {cell.seconds:.1f} s",
        f"mean {units.duration(cell.mean_ns)}" if cell.mean_ns is not None else "",
        *(f"p{name} {units.duration(ns)}" for name in PERCENTILES if (ns := cell.percentile_ns(name)) is not None),
        "kink, not smoothed" if cell.kink else "",
        "changed between visits" if cell.moved else "",
        "near the load generator's limit" if cell.generator_bound else "",
    )
    return ", ".join(filter(None, parts))


def _where(cell: MatrixCell) -> str:
    return f"{units.size(cell.bs)}, depth {cell.iodepth}"


def _told(quantity: Quantity, cell: MatrixCell, value: float | None) -> str:
    if cell.iops is None or quantity is QUANTITIES[0]:
        return said(cell)
    if value is None:
        return f"{_where(cell)}: no {quantity.name} from {units.count(cell.ios)} I/Os"
    unit = f" {quantity.name}" if quantity.rate else ""
    return f"{_where(cell)}: {quantity.write(value)}{unit}"


def _square(ident: str, quantity: Quantity, cell: MatrixCell | None, x: float, y: float, shades: svg.Scale) -> Markup:
    w, h = CELL_W - 3, CELL_H - 3
    if cell is None:
        return svg.rect(x, y, w, h, "square none")
    value = quantity.read(cell)
    if not value:
        empty = svg.rect(x, y, w, h, "square none", svg.title(_told(quantity, cell, value)))
        return svg.element("g", empty, svg.text(x + w / 2, y + h / 2 + 4, "–", "tick", "middle"))
    shade = min(STEPS - 1, int(shades(value)))
    signs = quantity.rate
    frame = " moved" if signs and cell.moved else " kink" if signs and cell.kink else ""
    parts = [svg.title(_told(quantity, cell, value)), svg.rect(x, y, w, h, f"square heat-{shade}{frame}")]
    if signs and cell.given is Given.SMOOTHED:
        edge = {"x": float(x), "y": float(y), "width": float(EDGE), "height": float(h)}
        parts.append(svg.element("rect", **edge, fill=f"url(#{ident}-hatch)"))
    middle = x + (w + (EDGE if signs else 0)) / 2
    lower = 1 if signs else -4
    parts.append(svg.text(middle, y + h / 2 - lower, quantity.write(value), f"figure {ink(shade)}", "middle"))
    if signs:
        parts.append(svg.text(middle, y + h / 2 + 12, error(cell), f"error-of {ink(shade)}", "middle"))
    if quantity is QUANTITIES[0]:
        return svg.element("g", *parts, class_="cell", tabindex="0")
    return svg.element("g", *parts)


def _hatch(ident: str) -> Markup:
    stripe = svg.line(0, 0, 0, 5, "hatch")
    pattern = svg.element(
        "pattern", svg.rect(0, 0, 5, 5, "under-hatch"), stripe, id=f"{ident}-hatch", width=5.0, height=5.0,
        patternUnits="userSpaceOnUse", patternTransform="rotate(45)",
    )  # fmt: skip
    return svg.element("defs", pattern)
