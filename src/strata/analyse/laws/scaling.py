"""More than linear scaling.

What it claims
    n threads (or nodes, or paths) give at most n times the rate of one.
Why it matters
    More than that means that something other than the scaled resource limited the first point: a cold cache, a lower
    clock, a fixed cost. Fits over such points and per-thread figures mislead.
Evidence
    The smallest row of a series against each other one; the rows differ only in the threads.
What rules it out
    Rounding, and the noise where the table states it.
Source
    Gunther, Puglia and Tomasette, Hadoop superlinear scalability, ACM Queue 13 (2015).
"""

from __future__ import annotations

from strata import units
from strata.analyse.laws.base import Answers, flag, groups, measured
from strata.analyse.scaling.table import rate, series_of
from strata.model.figures import Row, Table

NAME, TITLE, ORDER = "scaling", "more than linear", 200
SAYS = "more than n times the rate from n threads"
NEXT = "Measure the first point again, longer, and compare the CPU time per byte."


def check(table: Table) -> Answers:
    for rows in groups(measured(table, "threads"), "workload").values():
        for _, series in series_of(table, rows):
            yield from _beyond(table, series)


def _beyond(table: Table, series: list[Row]) -> Answers:
    first, base = series[0], rate(table, series[0])
    if base is None or base[0] <= 0 or first.figures["threads"].base <= 0:
        return
    stated = table.figures.get("noise")
    allowed = 1 + (stated.base if stated is not None else 0.0)
    for row in series[1:]:
        found, times = rate(table, row), row.figures["threads"].base / first.figures["threads"].base
        if found is None or times <= 1:
            continue
        yield None
        if found[0] / base[1] <= times * allowed:
            continue
        got = sum(found) / sum(base)
        text = f"{times:g} times the threads give {units.significant(got)} times the rate: more than linear, so "
        text += f"something else limited the first point ({first.name})"
        yield flag(row, text, column="threads", numbers={"threads": times, "rate": got})
