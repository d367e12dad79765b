"""A quantity of each layer over the time of a run that is still measured; a line for each cell, on one logarithmic
axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from markupsafe import Markup

from strata.model.groups import grouped
from strata.report.html.charts import svg
from strata.report.html.charts.svg import linear, log_range, log_ticks, logarithmic

WIDTH, HEIGHT = 360, 190
LEFT, RIGHT, TOP, BOTTOM = 56, 352, 12, 152
FEW = 12


class ChartPoint(Protocol):
    """A point of a layer; ``cell`` is the same for those between which a line is drawn."""

    @property
    def second(self) -> float: ...
    @property
    def layer(self) -> str: ...
    @property
    def cell(self) -> int: ...


P = TypeVar("P", bound=ChartPoint)


def over_time(
    ident: str,
    name: str,
    rates: Sequence[P],
    order: dict[str, int],
    read: Callable[[P], float | None],
    write: Callable[[float], str],
    since: str = "the run began",
) -> Markup | None:
    """None where no point has the quantity."""
    points = [(r, value) for r in rates if (value := read(r)) is not None and value > 0]
    if not points:
        return None
    bottom, top = log_range(min(v for _, v in points), max(v for _, v in points))
    first, end = rates[0].second, max(rates[-1].second, rates[0].second + 1)
    x, y = linear(first, end, LEFT, RIGHT), logarithmic(bottom, top, BOTTOM, TOP)
    drawn = svg.left_axis(LEFT, RIGHT, [(y(tick), write(tick)) for tick in log_ticks(bottom, top)])
    for second, anchor in ((first, "start"), ((first + end) / 2, "middle"), (end, "end")):
        drawn.append(svg.text(x(second), BOTTOM + 16, clock(second), "tick", anchor))
    drawn.append(svg.text((LEFT + RIGHT) / 2, HEIGHT - 4, f"{name}, since {since}", "axis", "middle"))
    said = {}
    for mine in grouped((one[0].cell, one) for one in points).values():
        layer = mine[0][0].layer
        index = order.get(layer, 0)
        said[layer] = write(mine[-1][1])
        if len(mine) > 1:
            places = [(x(r.second), y(v)) for r, v in mine]
            drawn.append(svg.path(places, f"curve {svg.layer_class(index)}", svg.title(layer)))
        # A short line shows no pattern; on a long one marks would hide it.
        if len(mine) <= FEW:
            told = (svg.title(f"{layer}: {write(v)}") for _, v in mine)
            drawn += [svg.mark(x(r.second), y(v), index, title) for (r, v), title in zip(mine, told, strict=True)]
    last_of = "; ".join(f"{layer}: last {value}" for layer, value in said.items())
    return svg.picture(ident, f"{name} over time", last_of, WIDTH, HEIGHT, *drawn)


def clock(seconds: float) -> str:
    """``0:07``, ``12:30``, ``1:02:30``."""
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"
