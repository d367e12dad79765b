"""Runs in the forms of other tools: one module a form, found because it lies here.

A module says of itself:

``NAME``, ``TITLE``   its key on the command line, and what it writes, for people
``TABULAR``           whether it writes any table of `strata.formats.exports.tables`, not the cells alone
``write(runs, table)``  the text

What was not measured is empty or left out, never 0. Figures are not rounded.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from strata.errors import UsageError, choices
from strata.formats.exports.tables import CELLS, TABLES, MeasuredRun
from strata.model.plugins import modules

__all__ = ["ExportForm", "MeasuredRun", "exported", "forms"]


@dataclass(frozen=True)
class ExportForm:
    """``name`` is its key."""

    name: str
    title: str
    tabular: bool
    write: Callable[[Sequence[MeasuredRun], str], str]


@functools.cache
def forms() -> tuple[ExportForm, ...]:
    """Every form, by its name."""
    found = modules(sys.modules[__name__], "NAME")
    return tuple(ExportForm(m.NAME, m.TITLE, m.TABULAR, m.write) for m in found)


def exported(form: str, runs: Sequence[MeasuredRun], table: str = CELLS) -> str:
    """The runs in one of the forms. Raises `UsageError` for a form or a table that there is not."""
    made = next((one for one in forms() if one.name == form), None)
    if made is None:
        raise UsageError("cannot export as", form, "there is no such form", choices(form, [f.name for f in forms()]))
    if table not in TABLES:
        raise UsageError("cannot export the table", table, "there is no such table", choices(table, TABLES))
    if table != CELLS and not made.tabular:
        able = ", ".join(f.name for f in forms() if f.tabular)
        raise UsageError("cannot export the table", table, f"{form} holds cells only", f"choose one of: {able}")
    return made.write(runs, table)
