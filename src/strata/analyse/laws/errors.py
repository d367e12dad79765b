"""Failed I/Os and failed measurements.

What it claims
    Every I/O came back, and every measurement was carried out.
Why it matters
    A failed I/O is often a fast one, and a layer without a figure is a layer nobody looked at.
Evidence
    The counts of the engine; the reason each measurement that gave nothing has for it.
What rules it out
    Nothing: one is told.
Source
    Our own.
"""

from __future__ import annotations

from collections.abc import Iterator

from strata import units
from strata.analyse.laws.view import RunView, colour
from strata.model.analysis import Check

NAME, TITLE, ORDER = "errors", "I/O errors", 150
SAYS = "I/Os or measurements failed"
OF_NULL = True
NEXT = "Mend what the message names, then measure again."


def of_run(run: RunView) -> Iterator[Check]:
    """Cells with errors, also those that gave no figure at all."""
    for cell in run.rounds.values():
        parts = [f"{units.count(cell.errors)} I/Os failed"] if cell.errors else []
        if cell.failed:
            parts.append(f"{len(cell.failed)} measurement(s) failed: {cell.failed[0]}")
        if parts:
            yield colour(NAME, "; ".join(parts), cell.layer, cell.workload.key)
