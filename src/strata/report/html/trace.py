"""A trace with its waterfall as one HTML page: where the time of the requests goes, one request, every figure."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from strata import units
from strata.model.trace import TraceResult
from strata.model.waterfall import PartKind, RequestGroup, SampledRequest, Waterfall
from strata.report import figures
from strata.report.html import frame
from strata.report.html.charts.path import PathBar, path_chart
from strata.report.html.frame import Cell, text_of
from strata.report.waterfall_lines import clock_lines, group_name, layer_name, missing_lines, rows_of, total_words

HEAD = ("layer", "part", "mean", "±", "share", "p50", "p99", "requests")
"""± is what two clocks leave open."""
_SEGMENTS_DRAWN = 40


@dataclass(frozen=True)
class GroupPanel:
    """One kind of request: its chart, one of them, its table."""

    name: str
    total: str
    chart: Markup | None
    sample: Markup | None
    sample_said: str
    rows: tuple[tuple[str, ...], ...]


def render(result: TraceResult) -> str:
    """The whole page as one string of HTML. The result has a waterfall."""
    waterfall = result.waterfall
    assert waterfall is not None
    return frame.render(
        "trace.html",
        csv_of(waterfall),
        "strata-trace",
        (),
        result=result,
        head=HEAD,
        panels=[_panel(waterfall, n, group) for n, group in enumerate(waterfall.groups)],
        clocks=clock_lines(waterfall),
        missing=missing_lines(waterfall.missing),
    )


def _panel(waterfall: Waterfall, number: int, group: RequestGroup) -> GroupPanel:
    rows = rows_of(waterfall, group)
    name = group_name(group)
    bars = [
        PathBar(f"{r.name} · {r.part.value}", r.layer, r.part is PartKind.QUEUE, r.start_ns, r.mean_ns) for r in rows
    ]
    one = waterfall.typical(number)
    return GroupPanel(
        name=name,
        total=total_words(group),
        chart=path_chart(f"path-{number}", f"Where the time of {name} goes", bars, group.total.mean_ns, "mean time"),
        sample=None if one is None else _sample(waterfall, one, number),
        sample_said="" if one is None else _said(one),
        rows=tuple(
            (
                r.name,
                r.part.value,
                units.duration(r.mean_ns),
                "–" if waterfall.clock is None else units.duration(r.unknown_ns),
                figures.percent(r.share),
                units.duration(r.p50_ns),
                "–" if r.p99_ns is None else units.duration(r.p99_ns),
                units.count(r.count),
            )
            for r in rows
        ),
    )


def _said(one: SampledRequest) -> str:
    who = f"{one.comm or '?'}/{one.tid}"
    when = f"{units.duration(one.at_ns)} after the start"
    return f"A request of {units.duration(one.ns)}, near the median, {when}, by {who}."


def _sample(waterfall: Waterfall, one: SampledRequest, number: int) -> Markup | None:
    bars = [
        PathBar(f"{layer_name(waterfall.layers[layer])} · {part.value}", layer, part is PartKind.QUEUE, begin, ns)
        for layer, part, begin, ns in one.segments[:_SEGMENTS_DRAWN]
    ]
    return path_chart(f"one-{number}", "One request in time", bars, one.ns, "time since the request began")


def csv_of(waterfall: Waterfall) -> str:
    """Every figure of every group."""
    head = ("way", "deed", "layer", "part", "mean_ns", "unknown_ns", "share", "p50_ns", "p99_ns", "requests")
    rows: list[tuple[Cell, ...]] = []
    for group in waterfall.groups:
        rows += [
            (
                *(group.way.value, group.deed.value, r.name, r.part.value),
                *(r.mean_ns, r.unknown_ns, r.share, r.p50_ns, r.p99_ns, r.count),
            )
            for r in rows_of(waterfall, group)
        ]
    return text_of(head, rows)
