"""The number of pieces of an I/O.

What it claims
    An I/O of a size is split into ⌊(offset + size − 1) ÷ unit⌋ − ⌊offset ÷ unit⌋ + 1 pieces; a number that is stated
    without the alignment is that of the worst offset.
Why it matters
    "Never split" holds for aligned I/O only. One that straddles a boundary becomes two, and on parity a
    read-modify-write.
Evidence
    The size, the allocation unit or stripe, the stated number of pieces, and the alignment where it is known (4 KiB
    where it is not).
What rules it out
    An alignment under which the number is right.
Source
    The formula is the definition of the pieces.
"""

from __future__ import annotations

import math

from strata import units
from strata.analyse.laws.base import Answers, flag, value
from strata.model.figures import Role, Table

NAME, TITLE, ORDER = "pieces", "pieces of an I/O", 270
SAYS = "an I/O is split into another number of pieces than stated"
NEXT = "State the alignment, or count the worst case."
ALIGN = 4 * units.KIB


def worst(size: float, unit: float, align: float) -> int:
    """Pieces at the worst offset that is a multiple of ``align``."""
    offset = max(unit - align, 0) if align < unit else 0
    return math.floor((offset + size - 1) / unit) - math.floor(offset / unit) + 1


def check(table: Table) -> Answers:
    for row in table.rows:
        told, unit = value(table, row, "pieces"), value(table, row, "unit")
        figure = row.figures.get("size") or row.figures.get("file")
        if told is None or not unit or figure is None or row.role is Role.PLANNED:
            continue
        yield None
        known = value(table, row, "align")
        # A file begins at a unit of its own.
        align = known or (unit if "size" not in row.figures else ALIGN)
        if told in {worst(figure.value * scale, unit, align) for _, scale in figure.readings}:
            continue
        size = figure.base
        right, aligned = worst(size, unit, align), worst(size, unit, unit)
        text = f"{units.size(size)} over units of {units.size(unit)} are split into {right} pieces"
        text += f" at the worst offset (a multiple of {units.size(align)}), {told:g} is stated"
        text += ": that holds for aligned I/O only" if told == aligned else ""
        yield flag(row, text, broken=True, column="pieces", numbers={"pieces": float(right), "said": told})
