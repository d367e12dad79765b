"""IOPS over time, one panel a workload. Rounds stand side by side, so that drift and unsteady rounds are seen."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from strata import units
from strata.model.analysis import CellSummary
from strata.model.groups import grouped
from strata.model.plan import round_words
from strata.report.html.charts import svg
from strata.report.html.charts.svg import linear, linear_ticks, linear_top

WIDTH, HEIGHT = 360, 190
LEFT, RIGHT, TOP, BOTTOM = 56, 352, 12, 152
INSET = 4

Points = list[tuple[float, float]]


def by_round(cell: CellSummary) -> dict[int, Points]:
    """(seconds since the cell's first interval of that round, IOPS) by round."""
    rounds = grouped((number, (second, iops)) for number, second, iops in cell.timeline)
    shifted = {}
    for number, points in rounds.items():
        start = min(second for second, _ in points)
        shifted[number] = sorted((second - start, iops) for second, iops in points)
    return shifted


def timeline(ident: str, label: str, cells: Sequence[tuple[int, CellSummary]]) -> Markup | None:
    """The panel of one workload; None without intervals."""
    lines = [(i, c, by_round(c)) for i, c in cells if c.timeline]
    if not lines:
        return None
    numbers = sorted({n for _, _, rounds in lines for n in rounds})
    longest = max(points[-1][0] for _, _, rounds in lines for points in rounds.values()) or 1.0
    most = max(v for _, c, _ in lines for _, _, v in c.timeline) or 1.0
    high = linear_top(most)
    y = linear(0, high, BOTTOM, TOP)
    slot = (RIGHT - LEFT) / len(numbers)
    drawn: list[Markup] = []
    for i, number in enumerate(numbers):
        if i % 2 == 0:
            drawn.append(svg.rect(LEFT + i * slot, TOP, slot, BOTTOM - TOP, "band"))
        drawn.append(svg.text(LEFT + (i + 0.5) * slot, BOTTOM + 16, str(number + 1), "tick", "middle"))
    drawn += svg.left_axis(LEFT, RIGHT, [(y(tick), short_count(tick)) for tick in linear_ticks(high)])
    drawn.append(svg.text((LEFT + RIGHT) / 2, HEIGHT - 4, "IOPS by round", "axis", "middle"))
    for index, cell, rounds in lines:
        for i, number in enumerate(numbers):
            points = rounds.get(number, [])
            x = linear(0, longest, LEFT + i * slot + INSET, LEFT + (i + 1) * slot - INSET)
            values = [v for _, v in points]
            span = f"{units.count(min(values))} to {units.count(max(values))} IOPS" if points else ""
            told = svg.title(f"{cell.layer}, {round_words(number)}: {span}")
            if len(points) == 1:
                at = points[0]
                drawn.append(svg.dot(x(at[0]), y(at[1]), svg.layer_class(index), told))
            elif points:
                drawn.append(svg.path([(x(s), y(v)) for s, v in points], f"curve firm {svg.layer_class(index)}", told))
    said = "; ".join(f"{c.layer}: {units.count(c.iops.value)} IOPS over {c.rounds} rounds" for _, c, _ in lines)
    return svg.picture(ident, f"IOPS over time of {label}", said, WIDTH, HEIGHT, *drawn)


def short_count(value: float) -> str:
    """``80k``, ``1.2M``: for ticks only."""
    for unit, factor in (("M", 1e6), ("k", 1e3)):
        if value >= factor:
            return f"{value / factor:g}{unit}"
    return f"{value:g}"
