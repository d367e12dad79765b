"""A step too coarse to compare.

What it claims
    A printed figure is not finer than the step of its column allows, and not zero because of it.
Why it matters
    A time of 0 beside 17 000 I/Os per second is a rounding, not a time; 2 and 2 in steps of one may be a third apart.
Evidence
    A printed zero where the other figures of the row show that it is not; rows that look equal in a coarse column
    while IOPS × size, in finer ones, shows that they differ by more than a tenth.
What rules it out
    Columns that are fine enough for the values they hold.
Source
    Strata's own rule; performance-monitor exports print seconds with few decimals.
"""

from __future__ import annotations

from strata import units
from strata.analyse.laws.base import Answers, flag, measured, outstanding, throughput, value
from strata.model.figures import Role, Rounding, Table

NAME, TITLE, ORDER = "quantised", "coarse column", 260
SAYS = "a step too coarse to compare, or a zero that is a rounding"
APART = 0.10
LEAST = "time.min"
"""The shortest I/O is a single event: that it took less than a step says nothing of the others."""


def check(table: Table) -> Answers:
    """Zeros that are none, then rates that look equal and are not."""
    yield from _zeros(table)
    yield from _alike(table)


def _zeros(table: Table) -> Answers:
    rows = table.of(Role.MEASURED)
    for row in rows:
        rate = throughput(table, row)
        if rate is None or rate[0] <= 0:
            continue
        for key, figure in row.figures.items():
            if key.partition(".")[0] != "time" or key.startswith(LEAST) or not figure.step or not figure.readings:
                continue
            yield None
            if figure.value != 0:
                continue
            steps = [
                r.figures[key].step * r.figures[key].readings[0][1]
                for r in rows
                if key in r.figures and r.figures[key].rounding is not Rounding.ABOUT
            ]
            step = min((s for s in steps if s > 0), default=0.0)
            n, iops = outstanding(table, row), sum(rate) / 2
            text = f"{key} is printed as 0 at {units.count(iops)} IOPS"
            text += f"; {n:g} outstanding give {units.duration(n / iops * 1e9)}" if n else ""
            text += f", less than the step of {units.duration(step)}" if n and n / iops * 1e9 < step else ""
            yield flag(row, text, "Read the raw counter (busy time and count).", column=key, numbers={"step_ns": step})


def _alike(table: Table) -> Answers:
    rows = [r for r in measured(table, "rate", "iops") if value(table, r, "size") and r.figures["rate"].step > 0]
    by: dict[tuple[str, float], list[float]] = {}
    for row in rows:
        bytes_ = row.figures["iops"].base * (value(table, row, "size") or 0)
        by.setdefault((row.figures["rate"].unit, row.figures["rate"].value), []).append(bytes_)
    if len(rows) > 1:
        yield None
    apart = {k: max(v) / min(v) - 1 for k, v in by.items() if min(v) > 0 and max(v) / min(v) > 1 + APART}
    if not apart:
        return
    (unit, shown), share = max(apart.items(), key=lambda x: x[1])
    count = sum(len(by[k]) for k in apart)
    step = min(r.figures["rate"].step for r in rows)
    text = f"{count} rows look equal in steps of {step:g} {unit} and are up to {units.percent(share, 2)} apart by IOPS "
    text += f"× size ({shown:g} {unit}): that column cannot be compared there"
    advice = "Compare IOPS, or print the rate with three significant digits."
    yield flag(None, text, advice, column="rate", numbers={"apart": share, "rows": float(count)})
