"""Histories as one HTML page: what became of each cell, its runs as a chart and as a table."""

from __future__ import annotations

from collections.abc import Iterable

from markupsafe import Markup

from strata.model.history import CellHistory, History
from strata.report import compare_lines, figures, history_text
from strata.report.html import frame
from strata.report.html.charts.course import course
from strata.report.html.frame import text_of


def render(history: History, site: Markup | None = None) -> str:
    """The whole page as one string of HTML; cells whose level changed come first, cells without a run not at all."""
    cells = sorted((c for c in history.cells if c.points), key=lambda c: not c.changes)
    return frame.render(
        "history.html",
        csv_of(cells),
        "strata-history",
        ("history.css",),
        site=site,
        change=compare_lines.change,
        lines=history_text,
        span=_span(cells),
        cells=[(c, course(f"course-{i}", c), history_text.rows(c)) for i, c in enumerate(cells)],
    )


def csv_of(cells: Iterable[CellHistory]) -> str:
    """A row for each run of each cell."""
    head = ["layer", "workload", "place", "run", "made_utc", "created_unix_ns", "rounds", "iops", "p50_ns", "p99_ns"]
    rows = (
        [
            c.layer, c.workload_key, c.identity, p.run, figures.moments([p.created_unix_ns])[0], p.created_unix_ns,
            p.rounds, p.iops, p.p50_ns, p.p99_ns, int(i in {one.index for one in c.changes}),
        ]
        for c in cells for i, p in enumerate(c.points)
    )  # fmt: skip
    return text_of([*head, "new_level"], rows)


def _span(cells: list[CellHistory]) -> str:
    """``2026-03-14 09:26 to 2026-03-20 10:01 UTC``; one moment where there is one, empty without any."""
    made = sorted({p.created_unix_ns for c in cells for p in c.points})
    said = figures.moments([*made[:1], *made[1:][-1:]])
    return f"{' to '.join(said)} UTC" if said else ""
