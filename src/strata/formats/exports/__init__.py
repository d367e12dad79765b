"""Runs in the forms of other tools: one module a form, found because it lies here.

A module says of itself:

``NAME``, ``TITLE``   its key on the command line, and what it writes, for people
``TABULAR``           whether it writes any `Sheet`; else it writes runs
``JUDGED``            whether it needs `MeasuredRun.suites`, what is judged of a run, and no figures (optional)
``write(what)``       an `Export` of a `Sheet` or of runs

What was not measured is empty or left out, never 0. Figures are not rounded.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from strata.errors import UsageError, choices
from strata.formats.exports import of_compared, of_gate, of_history, of_matrix, of_scale
from strata.formats.exports.sheet import Sheet
from strata.formats.exports.tables import CELLS, TABLES, MeasuredRun
from strata.model.compared import ComparedRuns
from strata.model.history import Gate, History
from strata.model.matrix import MatrixResult
from strata.model.plugins import modules
from strata.model.run import Report
from strata.model.scale import ScaleResult

__all__ = ["Export", "ExportForm", "MeasuredRun", "Tabular", "cells_as", "exported", "form_of", "forms"]


Export = str | bytes | Mapping[str, str]
"""A text, bytes, or the texts of a folder's files by their paths in it."""
Tabular = Report | MatrixResult | ScaleResult | ComparedRuns | History | Gate
"""What has cells."""


@dataclass(frozen=True)
class ExportForm:
    """``name`` is its key."""

    name: str
    title: str
    tabular: bool
    judged: bool
    write: Callable[[Any], Export]


@functools.cache
def forms() -> tuple[ExportForm, ...]:
    """Every form, by its name."""
    found = modules(sys.modules[__name__], "NAME")
    return tuple(ExportForm(m.NAME, m.TITLE, m.TABULAR, getattr(m, "JUDGED", False), m.write) for m in found)


def form_of(name: str) -> ExportForm:
    """Raises `UsageError` for a form that there is not."""
    made = next((one for one in forms() if one.name == name), None)
    if made is None:
        raise UsageError("cannot export as", name, "there is no such form", choices(name, [f.name for f in forms()]))
    return made


def exported(form: str, runs: Sequence[MeasuredRun], table: str = CELLS) -> Export:
    """The runs in one of the forms. Raises `UsageError` for a form or a table that there is not."""
    made = form_of(form)
    if table not in TABLES:
        raise UsageError("cannot export the table", table, "there is no such table", choices(table, TABLES))
    if made.tabular:
        return made.write(_sheet(runs, table))
    if table != CELLS:
        able = ", ".join(f.name for f in forms() if f.tabular)
        raise UsageError("cannot export the table", table, f"{form} has no tables", f"choose one of: {able}")
    return made.write(runs)


def cells_as(form: str, found: Tabular) -> Export:
    """The cells of what a command found, in a tabular form."""
    match found:
        case History():
            return form_of(form).write(of_history.sheet(found))
        case Gate():
            return form_of(form).write(of_gate.sheet(found))
        case MatrixResult():
            return form_of(form).write(of_matrix.sheet(found))
        case ScaleResult():
            return form_of(form).write(of_scale.sheet(found))
        case ComparedRuns():
            return form_of(form).write(of_compared.sheet(found))
    return exported(form, [MeasuredRun(found.run, found.results, found.analysis)])


def _sheet(runs: Sequence[MeasuredRun], table: str) -> Sheet:
    matrices = [of.matrix for of in runs if of.matrix is not None]
    sweeps = [of.scale for of in runs if of.scale is not None]
    if table == CELLS and sweeps and len(sweeps) == len(runs):
        return of_scale.sheet(*sweeps)
    if table != CELLS or not matrices:
        return TABLES[table].sheet(runs)
    if len(matrices) < len(runs):
        why = "cells of a matrix have other columns than those of a run"
        raise UsageError("cannot export together", ", ".join(of.run.id for of in runs), why, "export them one by one")
    return of_matrix.sheet(*matrices)
