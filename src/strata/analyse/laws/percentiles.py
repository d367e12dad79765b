"""Percentiles increase, and have enough samples.

What it claims
    A higher percentile is not below a lower one, and at least 100 I/Os are slower than every percentile that is
    printed.
Why it matters
    99.999 % of a million I/Os leaves ten events: the next run will show a different value. What looks like the tail of
    the device is chance.
Evidence
    The times by percentile and the number of I/Os they were taken from: n·(1 − p).
What rules it out
    Minimum and maximum: they are single events by definition. Percentiles above p99 in a tool's own output, which
    prints the same list whatever the number of I/Os.
Source
    David and Nagaraja, Order Statistics, 2003: the relative standard error of a count of 100 is 10 %.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from strata import units
from strata.analyse.laws.base import Answers, RunView, caveat, flag, percentiles, value
from strata.model.analysis import SAMPLES
from strata.model.figures import Role, Row, Table
from strata.model.percentiles import BEYOND, PERCENTILES, needed, supported

NAME, TITLE, ORDER = SAMPLES, "too few samples", 60
SAYS = "a percentile out of order, or with fewer than 100 I/Os beyond it"
NEXT = "Omit it, or measure longer."
TOLD = 99.0
"""The highest percentile that is told of among those that a tool prints by itself."""


def check(table: Table) -> Answers:
    for row in table.of(Role.MEASURED):
        for suffix in ("", ".read", ".write"):
            points = [(p, k, row) for p, k in _of(row, suffix)]
            yield from _order(points)
            yield from _support(table, row, points, suffix)
    rows = [r for r in table.of(Role.MEASURED) if {"percentile", "time"} <= set(r.figures)]
    single = [(row.figures["percentile"].base, "time", row) for row in rows]
    yield from _order(sorted(single, key=lambda x: x[0]))
    for point in single:
        yield from _support(table, point[2], [point], "")


def _of(row: Row, suffix: str) -> list[tuple[float, str]]:
    if not suffix:
        return percentiles(row)
    kept = {k.removesuffix(suffix): f for k, f in row.figures.items() if k.endswith(suffix)}
    return [(p, k + suffix) for p, k in percentiles(row.model_copy(update={"figures": kept}))]


def _order(points: Sequence[tuple[float, str, Row]]) -> Answers:
    for (p, key, row), (q, higher, above) in pairwise(points):
        yield None
        low, high = row.figures[key].bounds()[0], above.figures[higher].bounds()[1]
        if q > p and high < low:
            text = f"p{q:.10g} is {units.duration(above.figures[higher].base)}, below p{p:.10g} with "
            text += units.duration(row.figures[key].base)
            yield flag(above, text, "Check the columns of these figures.", broken=True, column=higher)


def _support(table: Table, row: Row, points: Sequence[tuple[float, str, Row]], suffix: str) -> Answers:
    """One flag for the row, at the lowest percentile that is not supported."""
    ios = value(table, row, f"ios{suffix}")
    if ios is None:
        return
    if points:
        yield None
    # Whether it carries them or not, a tool prints the same list each time: nobody claims its ends.
    most = TOLD if table.words.get("tool") else 100.0
    bare = [(p, key) for p, key, _ in points if 0 < p < 100 and p <= most and not supported([f"{p}"], round(ios))]
    if not bare:
        return
    p, key = bare[0]
    beyond = ios * (1 - p / 100)
    text = (
        f"p{p:.10g} of {units.count(round(ios))} I/Os has {units.significant(beyond, 2)} beyond it; it needs {BEYOND}"
    )
    text += f" (and {len(bare) - 1} higher)" if len(bare) > 1 else ""
    numbers = {"percentile": p, "ios": ios, "beyond": beyond}
    yield flag(row, text, column=key, numbers=numbers)


def of_run(run: RunView) -> Answers:
    """Our own cells that do not carry p99: what is not supported is not printed, and that is said."""
    for cell in run.cells:
        known = supported(PERCENTILES, cell.ios)
        if "99" not in known:
            best = f"up to p{known[-1]}" if known else "not even the median"
            text = f"{units.count(cell.ios)} I/Os are enough for {best}; p99 needs {units.count(needed('99'))}"
            yield caveat(text, cell.layer, cell.workload.key)
