"""Parts add up to the whole.

What it claims
    Reads and writes add up to the total, threads to the sum line, user and kernel time to the usage, busy and idle to
    all of the time, the parts of a time to the time.
Why it matters
    A total that is not the sum of the rows above it was taken elsewhere or at another moment; something is missing.
Evidence
    A figure and its parts in one row (`busy` = `busy.user` + `busy.kernel`), a row called total or average and the
    rows above it, or a whole and the number of its equal parts.
What rules it out
    The rounding of every part and of the whole; a thousandth where shares come from different clocks.
Source
    Conservation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from strata import units
from strata.analyse.laws.base import Answers, Interval, flag, given, overlap, percentile_of
from strata.model.figures import Dimension, Figure, Role, Row, Table

NAME, TITLE, ORDER = "parts", "parts and whole", 40
SAYS = "parts that do not add up to their whole"
ADDITIVE = frozenset({"iops", "rate", "ios", "bytes", "busy", "in_flight"})
COMPONENTS = frozenset({"server", "wire", "client", "device", "queue", "host"})
TOTALS = frozenset({"total", "total:", "sum", "all"})
MEANS = frozenset({"avg", "avg.", "average", "mean"})
CLOCKS = 0.001
NEXT = "Find the missing part, or the total that comes from another run."


def check(table: Table) -> Answers:
    for row in given(table):
        for key in row.figures:
            yield from _within(row, key)
        yield from _equal_parts(row)
        busy, idle = row.figures.get("busy"), row.figures.get("idle")
        if busy is not None and idle is not None:
            yield None
            both = _sum([busy.bounds(), idle.bounds()])
            if not overlap(both, (1 - CLOCKS, 1 + CLOCKS)):
                text = f"busy and idle add up to {units.percent(sum(both) / 2)} of the time"
                yield flag(row, text, broken=True, column="busy")
    yield from _lines(table)


def _within(row: Row, key: str) -> Answers:
    head = key.partition(".")[0]
    parts = [k for k in row.figures if k.startswith(f"{key}.") and "." not in k[len(key) + 1 :]]
    if head == "time":
        parts = [k for k in parts if k.rpartition(".")[2] in COMPONENTS]
        if percentile_of(key.partition(".")[2]) is not None:
            return
    elif head not in ADDITIVE:
        return
    if len(parts) > 1:
        yield from _compare(row, key, row.figures[key], [row.figures[k] for k in parts], _sum, "the sum of its parts")


def _lines(table: Table) -> Answers:
    """A row called total (or average) against the rows that differ from it in that label alone."""
    rows = table.of(Role.MEASURED)
    for whole in rows:
        labels = [k for k, v in whole.words.items() if v.lower() in TOTALS | MEANS]
        for label in labels:
            mean = whole.words[label].lower() in MEANS
            parts = [r for r in rows if r is not whole and label in r.words and r.like(label) == whole.like(label)]
            parts = [r for r in parts if r.words[label].lower() not in TOTALS | MEANS]
            for key, figure in whole.figures.items():
                kind = key.partition(".")[0]
                if len(parts) < 2 or not all(key in r.figures for r in parts):
                    continue
                some = [r.figures[key] for r in parts]
                if mean and kind in ("busy", "idle"):
                    yield from _compare(whole, key, figure, some, _mean, f"the mean over {label}")
                elif not mean and kind in ADDITIVE - {"busy"}:
                    yield from _compare(whole, key, figure, some, _sum, f"the sum over {label}")


def _equal_parts(row: Row) -> Answers:
    if not {"whole", "part", "count"} <= set(row.figures):
        return
    whole, part, count = (row.figures[k] for k in ("whole", "part", "count"))
    times = round(count.base)

    def join(spans: list[Interval]) -> Interval:
        low, high = _sum(spans)
        return low * times, high * times

    yield from _compare(row, "whole", whole, [part], join, f"{count.base:g} times its part")


def _compare(
    row: Row, key: str, whole: Figure, parts: Sequence[Figure], join: Callable[[list[Interval]], Interval], what: str
) -> Answers:
    if not whole.readings or not all(p.readings for p in parts):
        return
    yield None
    # Sums are of one column: a unit that is misread is misread alike in all of them.
    joined = join([p.bounds() for p in parts])
    if overlap(joined, whole.bounds(), CLOCKS if whole.dimension is Dimension.SHARE else 1e-6):
        return
    middle = sum(joined) / 2
    unit = "a count" if whole.dimension is Dimension.PLAIN else whole.dimension.value
    text = f"{key} is {whole.base:.6g}, and {what} is {middle:.6g} ({unit})"
    yield flag(row, text, broken=True, column=key, numbers={"whole": whole.base, "parts": middle})


def _sum(spans: list[Interval]) -> Interval:
    return sum(s[0] for s in spans), sum(s[1] for s in spans)


def _mean(spans: list[Interval]) -> Interval:
    low, high = _sum(spans)
    return low / len(spans), high / len(spans)
