"""A comparison of two runs as one HTML page."""

from __future__ import annotations

from markupsafe import Markup

from strata.model.compared import Change, ComparedRuns
from strata.report import compare_lines
from strata.report.html import frame
from strata.report.html.charts.forest import DRAWN_MOST, forest
from strata.report.html.frame import Cell, ends, interval, text_of

_LOOK = {Change.SLOWER: "slower", Change.FASTER: "faster", Change.CANNOT_TELL: "unsure", Change.EQUIVALENT: "same"}


def render(compared: ComparedRuns, site: Markup | None = None) -> str:
    """The whole page as one string of HTML; what changed most comes first."""
    cells = compare_lines.by_change(compared.cells)
    return frame.render(
        "compare.html",
        csv_of(compared),
        f"strata-{compared.a.run}-{compared.b.run}",
        ("compare.css",),
        site=site,
        compared=compared,
        cells=cells,
        lines=compare_lines,
        look=_LOOK,
        heat=frame.heat,
        changed=compare_lines.changed(cells),
        chart=forest("forest", cells[:DRAWN_MOST], compared.margin),
        drawn=min(len(cells), DRAWN_MOST),
    )


def csv_of(compared: ComparedRuns) -> str:
    """A row for each cell, and for each percentile of both runs its times and their ratio."""
    keys = list(dict.fromkeys(s.percentile for c in compared.cells for s in c.shifts))
    head = ["a", "b", "layer", "workload", "verdict", "beyond_margin", *interval("iops_a"), *interval("iops_b")]
    head += [*interval("ratio"), "p_difference", "p_equivalence", "between_runs"]
    for key in keys:
        head += [f"{_name(key)}_a_ns", f"{_name(key)}_b_ns", *interval(f"{_name(key)}_ratio")]
    rows: list[list[Cell]] = []
    for c in compared.cells:
        row: list[Cell] = [compared.a.run, compared.b.run, c.layer, c.workload_key, c.verdict.value]
        row += [int(c.beyond_margin), *ends(c.a), *ends(c.b), *ends(c.iops), c.p_difference, c.p_equivalence]
        row.append(c.between_runs)
        for key in keys:
            one = compare_lines.shift_of(c, key)
            row += [None] * 5 if one is None else [one.a_ns, one.b_ns, *ends(one.ratio)]
        rows.append(row)
    return text_of(head, rows)


def _name(key: str) -> str:
    return key if key == "mean" else f"p{key}"
