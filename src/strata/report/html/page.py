"""Puts the page together: every figure is made here, the templates only place it."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from strata.model.analysis import UNSTEADY, CellSummary
from strata.model.finding import VerdictKind
from strata.model.groups import grouped
from strata.model.percentiles import SHOWN_PERCENTILES
from strata.model.run import Report
from strata.report import answer, clients_text, experiments, figures, ladder, survey_facts, words
from strata.report.check_lines import check_lines, told
from strata.report.explained import ROW_HEAD, row_table
from strata.report.html import counters, frame, stack_map
from strata.report.html.charts.percentiles import percentiles
from strata.report.html.charts.prediction import prediction
from strata.report.html.charts.timeline import timeline
from strata.report.html.charts.waterfall import Bar, waterfall
from strata.report.html.frame import Cell, ends, interval, text_of
from strata.report.ladder import Ladder, LadderRow, Square
from strata.report.paragraph import gain, paragraph

NOISY = 0.10
"""From this spread between equal rounds on the page says at its top that the machine was noisy."""

Draw = Callable[[str, str, LadderRow], Markup | None]


@dataclass(frozen=True)
class Panel:
    """One chart under its heading."""

    heading: str
    shape: str
    chart: Markup


def render(report: Report, site: Markup | None = None) -> str:
    """The whole page as one string of HTML."""
    return frame.render("report.html", csv_of(report), f"strata-{report.run.id}", site=site, **context(report))


def csv_of(report: Report) -> str:
    """A row for each comparison of a cell, and one for each cell that was compared with nothing."""
    keys = _percentile_keys(report)
    head = ["run", "stack", "layer", "workload", "label", "rounds", "ios", *interval("iops")]
    head += [*interval("bytes_per_second"), *interval("mean_ns"), *(f"p{k}_ns" for k in keys)]
    head += ["against", "mark", *interval("ratio"), *interval("added_ns")]
    run = report.run
    squares = [square for row in ladder.build(report).rows for square in row.squares]
    return text_of(head, [[run.id, run.plan.stack.name, *_figures(s.summary, keys), *_held(s)]
                          for s in squares if s.summary is not None])  # fmt: skip


def _figures(cell: CellSummary, keys: list[str]) -> list[Cell]:
    named: list[Cell] = [cell.layer, cell.workload.key, cell.workload.label, cell.rounds, cell.ios]
    times = (cell.latency_ns.get(k) for k in keys)
    return [
        *named, *ends(cell.iops), *ends(cell.bytes_per_second), *ends(cell.mean_ns),
        *(None if at is None else at.value for at in times),
    ]  # fmt: skip


def _held(square: Square) -> list[Cell]:
    held = square.comparison
    if held is None or square.mark is None:
        return []
    return [held.below, square.mark.name.lower(), *ends(held.iops), *ends(held.added_ns)]


def context(report: Report) -> dict[str, Any]:
    """All that the templates place."""
    table = ladder.build(report)
    order = {layer.name: i for i, layer in enumerate(report.run.plan.stack.layers)}
    diagnosis = report.diagnosis

    def cells(row: LadderRow) -> list[tuple[int, CellSummary]]:
        found = (report.analysis.summary(name, row.workload.key) for name in order)
        return [(order[c.layer], c) for c in found if c is not None]

    own = answer.own(diagnosis)
    outcomes = [f for f in (own, *answer.further(diagnosis)) if f is not None and f.outcome is not None]
    return {
        "report": report,
        "run": report.run,
        "analysis": report.analysis,
        "verdict": diagnosis.verdict,
        "diagnosis": diagnosis,
        "good": diagnosis.verdict.kind in (VerdictKind.MEDIUM, VerdictKind.HEALTHY),
        "table": table,
        "order": order,
        "map": stack_map.of_report(report, table),
        "banners": banners(report),
        "own": own,
        "outcomes": [(f, prediction(f"prediction-{i}", f.outcome)) for i, f in enumerate(outcomes) if f.outcome],
        "paragraph": paragraph(report.analysis, diagnosis),
        "gain": gain(report.analysis, diagnosis),
        "row_head": ROW_HEAD,
        "row_table": row_table,
        "told": experiments.outcome,
        "asked": experiments.asked,
        "scenes": experiments.scenes(diagnosis),
        "refused": experiments.refused(diagnosis),
        "unfolded": diagnosis.verdict.confidence < experiments.UNFOLDED,
        "curves": _panels(table, "latency", lambda i, n, row: percentiles(i, n, cells(row))),
        "waterfalls": _panels(table, "waterfall", lambda i, n, row: waterfall(i, n, bars(report, row.workload.key))),
        "timelines": _panels(table, "time", lambda i, n, row: timeline(i, n, cells(row))),
        "ends": _ends(report),
        "clients": [
            (name, found, list(clients_text.client_lines(found, each=False)))
            for name, found in clients_text.of_results(report.results)
        ],
        "clients_text": clients_text,
        "counter_columns": counters.columns(report),
        "percentile_keys": _percentile_keys(report),
        "row_cells": [(row, found) for row in table.rows if (found := cells(row))],
        "checks": check_lines(report),
        "survey": report.run.survey,
        "survey_facts": survey_facts,
        "heat": frame.heat,
        "called_as": shlex.join(report.run.environment.command),
    }


def _panels(table: Ladder, prefix: str, draw: Draw) -> list[Panel]:
    made = ((row, draw(f"{prefix}-{i}", row.workload.label, row)) for i, row in enumerate(table.rows))
    return [Panel(row.workload.pattern, row.shape or table.common, chart) for row, chart in made if chart is not None]


def _percentile_keys(report: Report) -> list[str]:
    return sorted({key for cell in report.analysis.cells for key in cell.latency_ns}, key=float)


def bars(report: Report, key: str) -> tuple[Bar, ...]:
    """The waterfall of one workload: a layer without anything measured below it stands as a whole from 0."""
    made = []
    for index, layer in enumerate(report.run.plan.stack.layers):
        cell = report.analysis.summary(layer.name, key)
        if cell is None:
            continue
        held = (c for c in report.analysis.comparisons if (c.layer, c.workload_key) == (layer.name, key))
        comparison = next(held, None)
        below = report.analysis.summary(comparison.below, key) if comparison else None
        if comparison is None or below is None:
            made.append(Bar(layer.name, index, 0.0, cell.mean_ns, whole=True))
        else:
            made.append(Bar(layer.name, index, below.mean_ns.value, comparison.added_ns, whole=False))
    return tuple(made)


def banners(report: Report) -> list[tuple[str, str]]:
    """(heading, what it means) of all that a reader must know before the first figure."""
    said = []
    if words.debug_build(report):
        said.append(
            ("Debug build", "The engine was compiled without optimisation. These figures do not represent the storage.")
        )
    if (unfinished := words.incomplete(report)) is not None:
        said.append(("Unfinished", f"This {unfinished}."))
    impossible = [c for c in report.analysis.checks if c.impossible]
    if impossible:
        said.append(("Cannot be true", f"{told(impossible[0])}."))
    noise = report.analysis.noise
    if noise.rounds > 1 and noise.between_rounds >= NOISY:
        spread = figures.percent(noise.between_rounds)
        said.append(
            ("Noisy machine", f"Identical rounds vary by {spread}; smaller differences cannot be detected here.")
        )
    unsteady = sum(1 for c in report.analysis.checks if c.kind == UNSTEADY)
    if unsteady:
        cells = figures.plural(unsteady, "cell")
        said.append(("Unsteady", f"{cells} not steady during the measurement; see the checks."))
    return said


SHOWN = 12
"""Notes beyond that repeat themselves."""


def _ends(report: Report) -> dict[str, Any] | None:
    """What the section of client and server places, cells in the run's order; None where no cell has anything."""
    cells = report.analysis.cells
    splits = [(c, split) for c in cells for split in c.splits]
    noted = ((cell, (*cell.notes, *(n for split in cell.splits for n in split.notes))) for cell in cells)
    told = grouped((note, f"{cell.layer}, {cell.workload.label}") for cell, notes in noted for note in notes)
    more = {note: f" and {len(places) - 1} more" if len(places) > 1 else "" for note, places in told.items()}
    known = {p.percentile for _, split in splits for p in split.percentiles}
    flows, cycles = [c for c in cells if c.flows], [c for c in cells if c.cycles]
    return {
        "splits": splits,
        "percentiles": [p for p in SHOWN_PERCENTILES if p in known],
        "flows": flows,
        "cycles": cycles,
        "sources": list(dict.fromkeys(cost.source for c in cycles for cost in c.cycles)),
        "notes": [f"{note} ({places[0]}{more[note]})" for note, places in list(told.items())[:SHOWN]],
        "absent": list(dict.fromkeys(why for c in cells for why in c.absent)),
    } if splits or flows or cycles else None  # fmt: skip
