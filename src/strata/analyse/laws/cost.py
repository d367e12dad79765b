"""Cycles per byte against the figures beside them.

What it claims
    Busy share × clock × cores ÷ bytes per second is the reported cost per byte.
Why it matters
    Capacity is planned with this cost; one taken from another row plans for another load.
Evidence
    Busy share, clock, cores, rate (or IOPS × size) and the reported cost.
What rules it out
    Rounding and 2 % (the share is an average over another span than the rate).
Source
    The definition of cycles per byte.
"""

from __future__ import annotations

from strata.analyse.laws.base import Answers, bounds, flag, measured, overlap, rate_readings, value
from strata.model.figures import Table

NAME, TITLE, ORDER = "cost", "cycles per byte", 220
SAYS = "cycles per byte that do not match the figures beside them"
NEXT = "Recalculate it from the figures of this row."
TOLERANCE = 0.02


def check(table: Table) -> Answers:
    for row in measured(table, "cost", "busy"):
        clock, cores, size = (value(table, row, k) for k in ("clock", "cores", "size"))
        rates = rate_readings(row.figures.get("rate"))
        iops = bounds(table, row, "iops")
        if not rates and iops is not None and size:
            rates = ((iops[0] * size, iops[1] * size),)
        busy, said = row.figures["busy"].bounds(), row.figures["cost"]
        if not clock or not cores or not rates or min(r[0] for r in rates) <= 0:
            continue
        yield None
        costs = [(busy[0] * clock * cores / high, busy[1] * clock * cores / low) for low, high in rates]
        if any(overlap(span, said.bounds(), TOLERANCE) for span in costs):
            continue
        found = costs[0]
        text = (
            f"busy share × clock × cores ÷ rate is {sum(found) / 2:.3g} cycles per byte, but {said.value:g} is reported"
        )
        yield flag(row, text, broken=True, column="cost", numbers={"found": sum(found) / 2})
