"""More than linear.

What it claims
    n threads (or nodes, or paths) give at most n times what one gives.
Why it matters
    More than that means that the first point was held back by something else than the resource that is scaled: a cold
    cache, a lower clock, a fixed cost. Fits over such points and per-thread figures mislead.
Evidence
    The least row of a series against each other one; the rows differ in nothing but the threads.
What rules it out
    Rounding, and the noise where the table states it.
Source
    Gunther, Puglia and Tomasette, Hadoop superlinear scalability, ACM Queue 13 (2015).
"""

from __future__ import annotations

from collections.abc import Iterator

from strata import units
from strata.analyse.laws.base import Interval, flag, groups, measured, throughput, value
from strata.model.figures import Flag, Row, Table

NAME, TITLE, ORDER = "scaling", "beyond linear", 200
SAYS = "more than n times the rate from n threads"
SERIES = ("size",)


def check(table: Table) -> Iterator[Flag]:
    """Rows that give more than their share of threads over the first of their series."""
    for rows in groups(measured(table, "threads"), "workload").values():
        for series in _series(table, rows):
            yield from _beyond(table, series)


def _series(table: Table, rows: list[Row]) -> list[list[Row]]:
    """Split by size and by what each thread keeps outstanding."""
    found: dict[tuple[float | None, ...], list[Row]] = {}
    for row in rows:
        threads, n = value(table, row, "threads"), value(table, row, "outstanding")
        per_thread = value(table, row, "depth") if n is None or not threads else n / threads
        found.setdefault((*(value(table, row, k) for k in SERIES), per_thread), []).append(row)
    return [sorted(some, key=lambda r: r.figures["threads"].base) for some in found.values() if len(some) > 1]


def _rate(table: Table, row: Row) -> Interval | None:
    rate = row.figures.get("rate")
    return throughput(table, row) if rate is None or "iops" in row.figures else rate.bounds()


def _beyond(table: Table, series: list[Row]) -> Iterator[Flag]:
    first, base = series[0], _rate(table, series[0])
    if base is None or base[0] <= 0:
        return
    stated = table.figures.get("noise")
    allowed = 1 + (stated.base if stated is not None else 0.0)
    for row in series[1:]:
        rate, times = _rate(table, row), row.figures["threads"].base / first.figures["threads"].base
        if rate is None or times <= 1 or rate[0] / base[1] <= times * allowed:
            continue
        got = sum(rate) / sum(base)
        yield flag(
            NAME,
            row,
            f"{times:g} times the threads give {units.significant(got)} times the rate: more than linear, so the first "
            f"point ({first.name}) was held back by something else",
            "Measure the first point again, longer, and compare the processor time per byte.",
            broken=False,
            column="threads",
            numbers={"threads": times, "rate": got},
        )
