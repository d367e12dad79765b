"""Failed I/Os and failed measurements.

What it claims
    Every I/O completed without an error, and every measurement was carried out.
Why it matters
    A failed I/O is often a fast one, and a layer without a figure was not checked at all.
Evidence
    The counts of the engine, or `errors` and `short` of a row; the recorded reason of each measurement that gave no
    result.
What rules it out
    Nothing: a single failure is reported.
Source
    Strata's own rule.
"""

from __future__ import annotations

from strata import units
from strata.analyse.laws.base import Answers, RunView, caveat, flag, measured, value
from strata.model.figures import Table

NAME, TITLE, ORDER = "errors", "I/O errors", 150
SAYS = "I/Os or measurements failed"
OF_NULL = True
NEXT = "Fix what the message names, then measure again."


def check(table: Table) -> Answers:
    for key, words in (("errors", "failed"), ("short", "moved fewer bytes than asked")):
        for row in measured(table, key):
            yield None
            if (count := value(table, row, key) or 0) > 0:
                text = f"{units.count(count)} I/Os {words}: they are in its IOPS, or missing from them"
                yield flag(row, text, column=key, numbers={key: count})


def of_run(run: RunView) -> Answers:
    for cell in run.rounds.values():
        parts = [f"{units.count(cell.errors)} I/Os failed"] if cell.errors else []
        if cell.failed:
            parts.append(f"{units.plural(len(cell.failed), 'measurement')} failed: {cell.failed[0]}")
        if parts:
            yield caveat("; ".join(parts), cell.layer, cell.workload.key)
