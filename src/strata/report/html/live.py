"""A run while it is measured as a page: parts that are placed once and then replaced as they change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from strata import units
from strata.model.estimate import Estimate
from strata.model.live import LiveRun
from strata.model.progress import Phase
from strata.report import figures, live, plain
from strata.report.html import frame, stack_map
from strata.report.html.charts.over_time import clock, over_time
from strata.report.html.charts.svg import mark
from strata.report.html.charts.timeline import short_count

PARTS = ("now", "standing", "stack", "charts", "cells", "counters")
"""In the order of the page."""
ROOM = 400
"""Cells of a line of counters; the page breaks it where it has to."""


@dataclass(frozen=True)
class LiveRow:
    """One workload: a square for each layer, None where it was not measured yet."""

    label: str
    squares: tuple[Estimate | None, ...]


def parts(run: LiveRun) -> dict[str, str]:
    """Each part of `PARTS` as HTML."""
    env, context = frame.environment(), _context(run)
    return {name: env.get_template(f"live/{name}.html").render(**context) for name in PARTS}


def render(run: LiveRun, follow: str, site: Markup | None = None) -> str:
    """The whole page as one string of HTML. ``follow``: the address of the events that keep it up to date."""
    return frame.render(
        "live/live.html", None, f"strata-{run.head.run}", ("live.css",), scripts=("live.js",), site=site,
        follow=follow, parts={name: Markup(text) for name, text in parts(run).items()}, **_context(run),
    )  # fmt: skip


def layers_of(run: LiveRun) -> list[str]:
    """Those of the stack, and what else was measured, in the order in which colours are given."""
    return list(
        dict.fromkeys(
            (*(x.name for x in run.head.layers), *(r.layer for r in run.rates), *(c.layer for c in run.cells))
        )
    )


def _context(run: LiveRun) -> dict[str, Any]:
    layers = layers_of(run)
    order = {name: i for i, name in enumerate(layers)}
    p = run.now
    step, steps = (p.step or 0, p.steps or 0) if p else (0, 0)
    done = 0.0 if not steps else (step if p and p.finished else step - 1) / steps
    by_cell = {(c.layer, c.label): c.iops for c in run.cells}
    rows = [LiveRow(label, tuple(by_cell.get((layer, label)) for layer in layers))
            for label in dict.fromkeys(c.label for c in run.cells)]  # fmt: skip
    drawn = [layer for layer in layers if any(r.layer == layer for r in run.rates)]
    return {
        "run": run,
        "p": p,
        "phase": plain.PHASE[p.phase if p else Phase.PREPARE],
        "place": plain.place(p) if p else "",
        "now_rates": plain.rates(p) if p else [],
        "p50": None if p is None or p.p50_ns is None else units.duration(p.p50_ns),
        "left": plain.time_left(p) if p else "",
        "done": min(max(done, 0.0), 1.0),
        "elapsed": clock(run.seconds),
        "layers": layers,
        "drawn": drawn,
        "order": order,
        "rows": rows,
        "charts": _charts(run, order),
        "clients": live.client_lines(p.now.clients, ROOM) if p else [],
        "glances": live.glances(p.now, ROOM) if p else [],
        "share": figures.percent,
        "latest": {r.layer: r for r in run.rates},
        "mark": mark,
        "map": stack_map.of_live(run),
    }


def _charts(run: LiveRun, order: dict[str, int]) -> list[tuple[str, Markup]]:
    made = (
        ("IOPS", over_time("live-iops", "IOPS", run.rates, order, lambda r: r.iops, short_count)),
        ("p50", over_time("live-p50", "p50", run.rates, order, lambda r: r.p50_ns, units.duration)),
        ("p99", over_time("live-p99", "p99", run.rates, order, lambda r: r.p99_ns, units.duration)),
    )
    return [(name, chart) for name, chart in made if chart is not None]
