"""One workload, two figures.

What it claims
    Rows that ask for the same workload at the same layer give the same figure, within the noise.
Why it matters
    Two figures for one cell are two runs of which a reader chooses one, or a label that was left out.
Evidence
    Rows that agree in every label, in pattern, size, depth, threads and hosts, and differ in IOPS.
What rules it out
    Rows that are called rounds; a column of the table that was not read and may be what tells them apart; differences
    up to three times the noise of the table.
Source
    Strata's own rule: a cell has one key.
"""

from __future__ import annotations

from strata import units
from strata.analyse.laws.base import Answers, flag, measured, noise, value
from strata.model.figures import Row, Table

NAME, TITLE, ORDER = "repeated", "one workload, two figures", 256
SAYS = "the same workload appears twice with different figures"
NEXT = "Add the label in which the two differ, or call them rounds."
TIMES = 3
SETTINGS = (
    "size",
    "depth",
    "threads",
    "hosts",
    "outstanding",
    "cap",
    "cores",
    "seed",
    "file",
    "align",
    "unit",
    "cache",
)


def check(table: Table) -> Answers:
    """The second of two rows with one key."""
    seen: dict[object, Row] = {}
    for row in measured(table, "iops"):
        if "round" in row.words or "pattern" not in row.words or value(table, row, "size") is None or row.unread:
            continue
        key = (row.like(), *(row.figures[k].value if k in row.figures else None for k in SETTINGS))
        first = seen.setdefault(key, row)
        if first is row:
            continue
        yield None
        one, other = first.figures["iops"].base, row.figures["iops"].base
        if one > 0 and other > 0 and abs(one - other) / min(one, other) > TIMES * noise(table):
            text = f"the same workload as {first.name}: {units.count(one)} IOPS there, {units.count(other)} here"
            yield flag(row, text, column="iops", numbers={"first": one, "second": other})
