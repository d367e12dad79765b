"""What the rows of somebody's table show together: one question, one file, found because it lies here.

A law asks whether figures can be true, a question here what follows from them. A module has ``NAME``, ``ORDER``,
``READS`` (the kinds it calculates with: a row with a broken one of these is left out) and ``conclude(table)``. Where
the figures do not carry an answer it says so and what is missing, or is silent where the table is of something else.
"""

from __future__ import annotations

import sys
from types import ModuleType

from strata.analyse.laws import check_table, laws
from strata.model.figures import Conclusion, Role, Table
from strata.model.plugins import modules


def questions() -> tuple[ModuleType, ...]:
    """Every question, in the order in which they are asked."""
    return tuple(sorted(modules(sys.modules[__name__], "conclude"), key=lambda m: m.ORDER))


def conclusions_of(table: Table) -> tuple[Conclusion, ...]:
    """Everything that follows from the measured rows of ``table``."""
    caveats = {law.name for law in laws() if law.only_caveat}
    broken = [(f.row, f.column.partition(".")[0]) for f in check_table(table) if f.broken and f.law not in caveats]
    found: list[Conclusion] = []
    for module in questions():
        out = {row for row, kind in broken if kind in module.READS}
        rows = tuple(r for r in table.rows if r.role is not Role.MEASURED or r.name not in out)
        found += module.conclude(table.model_copy(update={"rows": rows}))
    return tuple(found)
