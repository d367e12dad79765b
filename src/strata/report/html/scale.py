"""A sweep as one HTML page: the curve of each layer with its knee and limit, and every figure as a table."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from strata.model.percentiles import SHOWN_PERCENTILES
from strata.model.scale import OpenPoint, ScalePoint, ScaleResult, WhatIf
from strata.report import scale_text
from strata.report.html import frame
from strata.report.html.charts.scaling import scaling
from strata.report.html.frame import Cell, ends, interval, text_of


@dataclass(frozen=True)
class LayerPanel:
    """One layer: its chart, its words, its tables."""

    name: str
    chart: Markup | None
    lines: tuple[str, ...]
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    opened: tuple[OpenPoint, ...]
    open_rows: tuple[tuple[str, ...], ...]
    answers: tuple[tuple[str, ...], ...]


def render(result: ScaleResult, site: Markup | None = None) -> str:
    """The whole page as one string of HTML."""
    return frame.render(
        "scale.html",
        csv_of(result),
        f"strata-{result.run or 'scale'}",
        ("scale.css",),
        site=site,
        result=result,
        head=scale_text.head_words(result),
        panels=[_panel(result, i, layer) for i, layer in enumerate(result.layers)],
        open_head=scale_text.OPEN_HEAD,
        task_head=scale_text.task_head(result.tasks) if result.tasks else [],
        task_rows=[scale_text.task_row(t) for t in result.tasks],
        task_words=scale_text.TASKS,
    )


def _panel(result: ScaleResult, number: int, layer: str) -> LayerPanel:
    axis, points, curve = result.ask.axis, result.of(layer), result.curve(layer)
    answers: list[WhatIf] = [a for a in result.what_if if a.layer == layer]
    opened = tuple(o for o in result.open_points if o.layer == layer)
    head, rows = scale_text.point_rows(points, axis)
    return LayerPanel(
        name=layer,
        chart=scaling(f"curve-{number}", points, curve, axis, answers),
        lines=tuple(scale_text.curve_lines(curve, axis)),
        head=tuple(head),
        rows=tuple(map(tuple, rows)),
        opened=opened,
        open_rows=tuple(tuple(scale_text.open_row(o)) for o in opened),
        answers=tuple(tuple(scale_text.what_if_lines(a, axis)) for a in answers),
    )


def csv_of(result: ScaleResult) -> str:
    """A row for each point."""
    head = ["run", "where", "layer", "axis", "value", "outstanding", *interval("iops"), *interval("bytes_per_second")]
    head += ["mean_ns", "p50_ns", "p90_ns", "p99_ns", "rounds", "ios", "seconds", "busiest", "busiest_share"]
    return text_of(head, ([result.run, result.where, *_figures(p, result.ask.axis.value)] for p in result.points))


def _figures(p: ScalePoint, axis: str) -> list[Cell]:
    times = [e.value if (e := p.latency_ns.get(name)) is not None else None for name in SHOWN_PERCENTILES]
    busy = p.busy[0] if p.busy else None
    return [
        p.layer, axis, p.value, p.outstanding, *ends(p.iops), *ends(p.bytes_per_second),
        None if p.mean_ns is None else p.mean_ns.value, *times, p.rounds, p.ios, p.seconds,
        None if busy is None else busy.of, None if busy is None else busy.share,
    ]  # fmt: skip
