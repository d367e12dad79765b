"""A watching that goes on as a page: the verdict now, the layers, their course, changes of level, and a look back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from strata import units
from strata.model.watch import LookBack, Slice, WatchedLayer
from strata.report import answer
from strata.report.html import frame, stack_map
from strata.report.html.charts.over_time import over_time
from strata.report.html.charts.svg import mark
from strata.report.text_layout import NOTHING
from strata.report.watch_text import (
    PLACE_FIGURES,
    clock,
    issuer_said,
    issuers_said,
    issuers_within,
    place_said,
    slice_said,
    stretches,
)  # fmt: skip

PARTS = ("now", "places", "stack", "charts", "events")
SHOWN = 300
"""Slices of a chart; of more, each so many."""


@dataclass(frozen=True)
class WatchedMoment:
    """A layer in one slice."""

    second: float
    layer: str
    cell: int
    row: WatchedLayer


def parts(found: LookBack) -> dict[str, str]:
    """Each part of `PARTS` as HTML."""
    env, context = frame.environment(), _context(found)
    return {name: env.get_template(f"watch/{name}.html").render(**context) for name in PARTS}


def render(found: LookBack, follow: str | None, site: Markup | None = None) -> str:
    """The whole page as one string of HTML. ``follow``: the address of the events that keep it up to date; None for a
    time that is over."""
    return frame.render(
        "watch/watch.html", None, "strata-watch", ("live.css",), scripts=("live.js",) if follow else (), site=site,
        follow=follow, parts={name: Markup(text) for name, text in parts(found).items()}, **_context(found),
    )  # fmt: skip


def _context(found: LookBack) -> dict[str, Any]:
    last = found.slices[-1]
    names = dict.fromkeys(row.layer for one in (last, *found.slices) for row in one.layers)
    order = {name: i for i, name in enumerate((*names, *(x.name for x in last.stack if x.name not in names)))}
    return {
        "found": found, "last": last, "order": order, "charts": _charts(found, order), "rows": _rows(found),
        "figures_told": [one for one in PLACE_FIGURES if any(one.said(row) != NOTHING for row in last.layers)],
        "place_said": place_said, "issuer_said": issuer_said, "map": stack_map.of_watched(last, order),
        "ruled_out": answer.ruled_out_briefly(last.ruled_out),
        "said": slice_said, "clock": clock, "mark": mark,
    }  # fmt: skip


def _charts(found: LookBack, order: dict[str, int]) -> list[tuple[str, Markup]]:
    step = -(-len(found.slices) // SHOWN)
    cells: dict[tuple[str, str], int] = {}
    begin = found.slices[0].at_unix_ns
    moments = [
        WatchedMoment((one.at_unix_ns - begin) / units.NS_PER_S, row.layer,
               cells.setdefault((row.layer, row.what), len(cells)), row)
        for one in found.slices[::step] for row in one.layers
    ]  # fmt: skip
    since = clock(begin)
    made = (
        ("IOPS", over_time("watch-iops", "IOPS", moments, order, lambda m: m.row.iops, units.count, since)),
        ("requests in flight", over_time(
            "watch-flight", "requests in flight", moments, order, lambda m: m.row.in_flight, units.significant, since)),
        ("time of a request", over_time(
            "watch-time", "time of a request", moments, order, lambda m: m.row.request_ns, units.duration, since)),
    )  # fmt: skip
    return [(name, chart) for name, chart in made if chart is not None]


def _verdict(found: LookBack, first: Slice, last: Slice) -> str:
    who = issuers_within(found, first, last)
    return f"{slice_said(first)} · issued by {issuers_said(who)}" if who else slice_said(first)


def _rows(found: LookBack) -> list[tuple[str, str, str]]:
    """(when, what it is, in words), the newest first."""
    rows = [(a.at_unix_ns, f"{clock(a.at_unix_ns)}–{clock(b.at_unix_ns)}", "verdict", _verdict(found, a, b))
            for a, b in stretches(found.slices)]  # fmt: skip
    rows += [(e.at_unix_ns, clock(e.at_unix_ns), "event", f"{e.layer} · {e.says}") for e in found.events]
    rows += [(a, f"{clock(a)}–{clock(b)}", "gap", "nothing was kept") for a, b in found.gaps]
    return [row[1:] for row in sorted(rows, key=lambda row: row[0], reverse=True)]
