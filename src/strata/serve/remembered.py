"""The pages of what is remembered over runs: comparisons, histories, baselines and gates."""

from __future__ import annotations

import fnmatch
import json
from dataclasses import dataclass
from functools import partial

from markupsafe import Markup, escape

from strata import units
from strata.app import compare as comparing
from strata.app import history as remembering
from strata.app import kept
from strata.app.fleet import compare_hosts
from strata.errors import StrataError, UsageError
from strata.model.compared import CellCompared, ComparedRuns
from strata.model.history import Gate, GateOutcome
from strata.model.pages import BaselineGate, BaselinesPage
from strata.report import compare_lines, fleet_text, gate_text
from strata.report.html import compare, frame, history
from strata.report.json_ import render_part
from strata.serve.shown import Shown, own_page, site

HOSTS_MOST = 100
COMPARED_MOST = 8
"""Runs beside each other: more columns than these nobody reads."""
WHOLE_MOST = 100
"""Cells of the first run times the others: of so many distributions are compared too, of more on each pair's page."""
CELLS_MOST = 24
"""Histories of one page; of more the list is shown."""
NEWEST = 300
"""Runs of a cell that its history shows; ``strata history`` shows all."""


@dataclass(frozen=True)
class GateLine:
    """A baseline in force, and what the gate says of the newest run; ``why`` in place of it where it cannot."""

    name: str
    version: int
    runs: int
    gate: Gate | None
    why: str = ""

    @property
    def value(self) -> BaselineGate:
        """The same for programs."""
        gate = self.gate
        if gate is None:
            return BaselineGate(baseline=self.name, version=self.version, outcome=None, why=self.why)
        return BaselineGate(
            baseline=self.name, version=self.version, candidate_runs=gate.candidate_runs, outcome=gate.outcome,
            why=gate.why,
        )  # fmt: skip

    @property
    def look(self) -> str:
        """As the page colours it."""
        if self.gate is None:
            return "open"
        return {GateOutcome.FINE: "good", GateOutcome.REGRESSION: "bad"}.get(self.gate.outcome, "open")


class RememberedPages:
    """Everything that is asked of several runs."""

    def __init__(self, store: str | None) -> None:
        self._store = store

    def compared(self, runs: list[str], *, anyway: bool, by_age: bool) -> Shown:
        """Each run against the first one, or ``by_age`` against the oldest. Raises what `compare_runs` raises."""
        chosen = list(dict.fromkeys(run for run in runs if run))[: COMPARED_MOST + 1]
        if not 2 <= len(chosen) <= COMPARED_MOST:
            why = f"2 to {COMPARED_MOST} runs are compared, and {len(set(runs))} were chosen"
            raise UsageError("cannot compare", "these runs", why, "mark runs in the list: /runs")
        if by_age:
            heads = kept.named_runs(chosen, self._store)
            chosen = [h.id for h in sorted(heads, key=lambda h: h.created_unix_ns)]
        reference, *others = chosen
        if len(others) == 1:
            found = comparing.compare_runs(reference, others[0], self._store, anyway=anyway)
            return Shown(
                lambda twin: compare.render(found, site("", ("JSON", twin))), partial(found.model_dump_json, indent=2)
            )
        each = partial(comparing.compare_each, reference, others, self._store, whole_most=WHOLE_MOST, anyway=anyway)

        def html(twin: str) -> str:
            found, whole = each()
            made = own_page(
                "several.html", "", found=found, rows=_rows(found), in_a_row=_in_a_row, lines=compare_lines,
                anyway=anyway, whole=whole,
            )  # fmt: skip
            return made(twin)

        return Shown(html, lambda: render_part("comparisons", "comparisons", each()[0]))

    def fleet(self, runs: list[str]) -> Shown:
        """Runs of several hosts: who differs from the others, and in which layer. Raises as `compare_hosts`."""
        chosen = list(dict.fromkeys(run for run in runs if run))
        if not 2 <= len(chosen) <= HOSTS_MOST:
            why = f"2 to {HOSTS_MOST} runs are compared, and {len(chosen)} were chosen"
            raise UsageError("cannot compare", "these hosts", why, "mark a run of each host in the list: /runs")
        found = compare_hosts(chosen, self._store)
        slow = {(d.host, d.layer, d.kind) for d in found.differs}
        # As wide as the longest: figures stand under each other by their points.
        room = max((len(f"{ratio:.2f}") for view in found.views for ratio in view.ratios.values()), default=0)
        html = own_page("fleet.html", "", found=found, text=fleet_text, slow=slow, heat=frame.heat, room=room)
        return Shown(html, partial(found.model_dump_json, indent=2))

    def histories(self, asked: dict[str, str]) -> Shown:
        """One cell over its runs, or the list of cells."""
        demos, cell = "demos" in asked, asked.get("cell", "").strip()
        if cell and len(matching := _matching(cell, remembering.known_cells(self._store, demos=True))) > CELLS_MOST:
            html = own_page("cells.html", "/history", cells=matching, demos=demos, many=True)
            return Shown(html, lambda: _cells_json(matching))
        if cell:
            found = remembering.history_of(cell, self._store, NEWEST, demos=True)
            return Shown(
                lambda twin: history.render(found, site("/history", ("All cells", "/history"), ("JSON", twin))),
                partial(found.model_dump_json, indent=2),
            )
        cells = remembering.known_cells(self._store, demos=demos)
        html = own_page("cells.html", "/history", cells=cells, demos=demos, many=False)
        return Shown(html, lambda: _cells_json(cells))

    def baselines(self) -> Shown:
        """Every baseline in force with its gate: whether the newest run passes stands at the top."""
        every = remembering.list_baselines(self._store)
        force = {b.name: b for b in reversed(every)}.values()
        lines = [self._gated(b.name, b.version, len(b.runs)) for b in force]
        html = own_page("baselines.html", "/baselines", lines=lines, every=every, outcome=gate_text.outcome)
        found = BaselinesPage(gates=tuple(line.value for line in lines), baselines=every)
        return Shown(html, partial(found.model_dump_json, indent=2))

    def gate(self, name: str, runs: list[str]) -> Shown:
        """The gate of runs, by default the newest, against a baseline. Raises what `gate_runs` raises."""
        found = remembering.gate_runs(name, [r for r in runs if r], None, self._store)
        html = own_page("gate.html", "/baselines", gate=found, text=gate_text, change=compare_lines.change)
        return Shown(html, partial(found.model_dump_json, indent=2))

    def _gated(self, name: str, version: int, runs: int) -> GateLine:
        try:
            return GateLine(name, version, runs, remembering.gate_runs(name, (), None, self._store))
        except StrataError as e:
            return GateLine(name, version, runs, None, e.headline)


def _matching(cell: str, cells: dict[str, int]) -> dict[str, int]:
    return {name: places for name, places in cells.items() if fnmatch.fnmatchcase(name, cell)}


def _cells_json(cells: dict[str, int]) -> str:
    return json.dumps({"schema": "strata.cells/1", "cells": cells}, indent=2, ensure_ascii=False)


def _in_a_row(found: list[ComparedRuns], cells: list[CellCompared | None]) -> Markup:
    """What each run is in this cell. Not in the template, which would place seven values in each of a thousand cells:
    that takes a tenth of the page's time."""
    made = []
    for one, c in zip(found, cells, strict=True):
        if c is None:
            told = '<span class="empty">–</span>'
        else:
            words = compare_lines.verdict(c, one.margin)
            told = (
                f'<span class="value">{escape(compare_lines.change(c.iops))}</span> '
                f'<span class="mark">{compare_lines.MARK[c.verdict]}</span> {escape(words)}<br>'
                f'<span class="small">{units.count(c.a.value)} → {units.count(c.b.value)} IOPS</span>'
            )
        made.append(f'<td data-layer="{escape(one.b.run)}">{told}</td>')
    return Markup("".join(made))


def _rows(found: list[ComparedRuns]) -> list[tuple[str, str, list[CellCompared | None]]]:
    """(layer, workload, what each run is against the first), what changed most in any of them first."""
    every: dict[tuple[str, str], list[CellCompared | None]] = {}
    for i, one in enumerate(found):
        for cell in one.cells:
            every.setdefault((cell.layer, cell.label), [None] * len(found))[i] = cell
    rows = [(layer, label, cells) for (layer, label), cells in every.items()]
    return sorted(rows, key=lambda row: min((c.iops.value for c in row[2] if c is not None), default=1.0))
