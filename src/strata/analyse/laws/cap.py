"""A rate cap that was reached is not a capacity.

What it claims
    Where a rate was requested and reached, the figure is the requested rate.
Why it matters
    "It does 1 GiB/s" is then a setting of the test. The storage may be able to do ten times that, or exactly that.
Evidence
    The requested rate (`cap`) and the rate of the row, at 98 % of it or more.
What rules it out
    A row below its cap: there the storage or the load generator was the limit. A row of the same workload without a
    cap, as a curve of requested rates begins with.
Source
    Schroeder, Wierman and Harchol-Balter, Open versus closed: a cautionary tale, NSDI 2006.
"""

from __future__ import annotations

from strata import units
from strata.analyse.laws.base import Answers, flag, outstanding, throughput, value
from strata.model.figures import Role, Row, Table

NAME, TITLE, ORDER = "cap", "not a capacity", 110
SAYS = "a requested rate that was reached is not a capacity"
NEXT = "Run without the rate cap to find what the storage can do."
REACHED = 0.98


def at_cap(table: Table, row: Row) -> float | None:
    """The IOPS that were asked for, where the row reaches them."""
    asked, iops = value(table, row, "cap"), value(table, row, "iops")
    rate, size = value(table, row, "rate"), value(table, row, "size")
    done = rate / size if iops is None and rate is not None and size else iops
    return asked if asked and done is not None and done >= asked * REACHED else None


def _workload(table: Table, row: Row) -> tuple[str, float | None, float | None]:
    return table.word(row, "pattern") or "", value(table, row, "size"), outstanding(table, row)


def _is_free(table: Table, row: Row) -> bool:
    return value(table, row, "cap") is None and throughput(table, row) is not None


def check(table: Table) -> Answers:
    """One flag for all rows that stand at their cap."""
    if any(value(table, row, "cap") and throughput(table, row) for row in table.of(Role.MEASURED)):
        yield None
    free = {_workload(table, row) for row in table.of(Role.MEASURED) if _is_free(table, row)}
    asked = ((row, at_cap(table, row)) for row in table.of(Role.MEASURED))
    held = [(row, rate) for row, rate in asked if rate is not None and _workload(table, row) not in free]
    if not held:
        return
    row, cap = held[0]
    rows = f"{len(held)} rows are" if len(held) > 1 else "the row is"
    text = f"{rows} at the requested {units.count(cap)} IOPS: that is the setting, not a capacity"
    yield flag(row if len(held) == 1 else None, text, column="cap", numbers={"asked": cap, "rows": float(len(held))})
