"""Figures that stand twice.

What it claims
    Two different workloads do not give the same rate and the same time to the last digit.
Why it matters
    Tables are filled by hand. A row that was copied and not overwritten is a measurement that was never made.
Evidence
    A rate (IOPS, I/Os, bytes or bytes per second) and a time, each with four significant digits or more, that are equal
    in two rows of different pattern, size, depth or number of threads.
What rules it out
    Rows of the same workload (a total of one part equals it); figures of fewer digits, which chance makes equal.
Source
    Simonsohn, Just post it: the lesson from two cases of fabricated data detected by statistics alone, Psychological
    Science 24 (2013): identical figures where chance gives different ones.
"""

from __future__ import annotations

from strata.analyse.laws.base import Answers, flag, measured
from strata.model.figures import Row, Table

NAME, TITLE, ORDER = "copied", "the same figures twice", 255
SAYS = "two workloads have the same rate and time to the last digit"
NEXT = "Look up both in the tool's own output."
DIGITS = 4
_RATES, _TIME = ("iops", "ios", "rate", "bytes"), "time."
Witness = tuple[tuple[str, float], ...]


def check(table: Table) -> Answers:
    """The second of two rows that agree in a rate and a time."""
    seen: dict[Witness, Row] = {}
    asked = False
    for row in measured(table):
        rates = [(k, row.figures[k].value) for k in _RATES if k in row.figures and _fine(row.figures[k].value)]
        times = [(k, f.value) for k, f in row.figures.items() if k.startswith(_TIME) and _fine(f.value)]
        if not rates or not times or "round" in row.words:
            continue
        if not asked and seen:
            asked = True
            yield None
        first = seen.setdefault((*rates, *times), row)
        if first is not row and _workload(first) != _workload(row):
            keys = [key for key, _ in (*rates, *times)]
            text = f"{', '.join(keys)} are equal to those of {first.name}, which is another workload"
            yield flag(row, text, column=keys[0])


def _workload(row: Row) -> tuple[object, ...]:
    figures = (row.figures[k].base if k in row.figures else None for k in ("size", "depth", "threads", "outstanding"))
    return (row.words.get("pattern"), *figures)


def _fine(value: float) -> bool:
    """Whether it has enough digits that chance does not repeat it."""
    return len(f"{abs(value):.12g}".replace(".", "").partition("e")[0].strip("0")) >= DIGITS
