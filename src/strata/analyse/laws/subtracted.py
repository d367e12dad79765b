"""Percentiles do not add up.

What it claims
    A percentile of a sum is not the sum of the percentiles of its parts.
Why it matters
    Where client = server + wire to the last digit in every row, one of the three was not measured: it is a subtraction,
    and holds for means only.
Evidence
    A percentile (or the maximum) of a time and of its parts, in three rows or more: the parts of `time.p99` are
    `time.p99.server` and `time.p99.wire`, the whole is `time.p99` or `time.p99.client`.
What rules it out
    A row in which they do not add up; fewer than three rows.
Source
    Quantiles of sums (any textbook of probability): only where the parts rise and fall together do they add up.
"""

from __future__ import annotations

from strata.analyse.laws.base import Answers, flag, given, overlap, percentile_of
from strata.model.figures import Row, Table

NAME, TITLE, ORDER = "subtracted", "percentiles that add up", 68
SAYS = "percentiles of parts add up to the last digit: one of them is a subtraction"
NEXT = "Take the means of the parts, or measure each part by itself."
ROWS = 3
ENDS = ("server", "wire", "device", "queue", "host")


def check(table: Table) -> Answers:
    """One flag for each percentile of which all rows add up."""
    found: dict[str, list[tuple[Row, bool]]] = {}
    for row in given(table):
        for head in {k.rpartition(".")[0] for k in row.figures if k.rpartition(".")[2] in ENDS}:
            adds = _adds_up(row, head)
            if adds is not None:
                found.setdefault(head, []).append((row, adds))
    for head, rows in found.items():
        if len(rows) < ROWS:
            continue
        yield None
        if all(adds for _, adds in rows):
            text = f"{head} is the sum of its parts in all {len(rows)} rows, to the last digit"
            yield flag(rows[0][0], text, column=head, numbers={"rows": float(len(rows))})


def _adds_up(row: Row, head: str) -> bool | None:
    """None where it is no percentile of a time, or its whole or its parts are not there."""
    kind, _, of = head.partition(".")
    number = percentile_of(of) if kind == "time" else None
    whole = row.figures.get(head) or row.figures.get(f"{head}.client")
    parts = [row.figures[k] for end in ENDS if (k := f"{head}.{end}") in row.figures]
    if number is None or whole is None or len(parts) < 2 or not all(p.readings for p in (whole, *parts)):
        return None
    spans = [p.bounds() for p in parts]
    return overlap((sum(s[0] for s in spans), sum(s[1] for s in spans)), whole.bounds())
