"""Histories as one HTML page."""

from __future__ import annotations

from markupsafe import Markup

from strata.model.history import History
from strata.report import compare_lines
from strata.report.html.charts.course import course
from strata.report.html.frame import environment


def render(history: History) -> str:
    """The whole page as one string of HTML; cells whose level changed come first."""
    env = environment()
    assert env.loader is not None
    style = Markup(env.loader.get_source(env, "style.css")[0])
    cells = sorted(history.cells, key=lambda c: not c.changes)
    return env.get_template("history.html").render(
        style=style,
        change=compare_lines.change,
        cells=[(c, course(f"course-{i}", c)) for i, c in enumerate(cells)],
    )
