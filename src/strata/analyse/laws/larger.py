"""Larger I/Os at a higher rate.

What it claims
    With everything else equal, larger I/Os do not reach more IOPS than smaller ones.
Why it matters
    Each I/O of the larger size moves more bytes over the same path. Where it is faster, the smaller one was slowed down
    by something else (it is below the unit of the medium and is read before it is written, it was measured on a cold
    cache), or two rows were exchanged.
Evidence
    IOPS at two sizes, in rows whose labels, depth and threads are the same.
What rules it out
    Rounding, and 15 %, or the noise that the table states where that is more.
Source
    The time of an I/O is a fixed part and one that grows with its size (Jain, The Art of Computer Systems Performance
    Analysis, 1991).
"""

from __future__ import annotations

from itertools import pairwise

from strata import units
from strata.analyse.laws.base import Answers, flag, groups, measured, noise
from strata.model.figures import Row, Table

NAME, TITLE, ORDER = "larger", "larger I/Os are faster", 205
SAYS = "more IOPS with larger I/Os than with smaller ones"
NEXT = "Check the alignment and the cache of the smaller size, and measure it again."
LEAST = 0.15
_EACH = ("workload", "job", "test", "round", "run")
"""Labels that name a row and not what it is of."""


def check(table: Table) -> Answers:
    rows = [r for r in measured(table, "iops", "size") if "round" not in r.words]
    allowed = 1 + max(LEAST, noise(table))
    for alike in groups(rows, *_EACH).values():
        series: dict[tuple[float | None, ...], list[Row]] = {}
        for row in alike:
            of = tuple(row.figures[k].base if k in row.figures else None for k in ("depth", "threads", "outstanding"))
            series.setdefault(of, []).append(row)
        for some in series.values():
            for small, large in pairwise(sorted(some, key=lambda r: r.figures["size"].base)):
                yield from _faster(small, large, allowed)


def _faster(small: Row, large: Row, allowed: float) -> Answers:
    if small.figures["size"].base >= large.figures["size"].base:
        return
    yield None
    least, most = large.figures["iops"].bounds()[0], small.figures["iops"].bounds()[1]
    if most <= 0 or small.figures["iops"].base <= 0 or least / most <= allowed:
        return
    times = large.figures["iops"].base / small.figures["iops"].base
    text = f"I/Os of {units.size(large.figures['size'].base)} reach {units.significant(times)} times the IOPS of those "
    text += f"of {units.size(small.figures['size'].base)} ({small.name})"
    yield flag(large, text, column="iops", numbers={"ratio": times})
