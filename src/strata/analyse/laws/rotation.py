"""A disk has to turn.

What it claims
    A random read that reaches a turning disk waits for half a revolution on the average.
Why it matters
    What is faster was answered by a cache, by a few tracks next to each other, or by another disk.
Evidence
    `rpm` of the row or the table, a random pattern of reads, one I/O outstanding, and its mean time or its IOPS.
What rules it out
    A mean of at least half of that wait: command queues and short strokes save a part of it, not all.
Source
    Ruemmler, Wilkes, An introduction to disk drive modeling, IEEE Computer 27 (1994): rotational latency.
"""

from __future__ import annotations

from strata import units
from strata.analyse.laws.base import Answers, flag, given, is_random, outstanding, value, writes
from strata.model.figures import Table

NAME, TITLE, ORDER = "rotation", "a disk has to turn", 172
SAYS = "random reads of a turning disk take less than a quarter of a revolution"
NEXT = "Find the cache that answers, or measure a larger part of the disk."
PART = 0.5


def check(table: Table) -> Answers:
    for row in given(table):
        rpm, iops = value(table, row, "rpm"), value(table, row, "iops")
        mean = value(table, row, "time.mean") or (units.NS_PER_S / iops if iops else None)
        alone = outstanding(table, row) == 1 and is_random(table, row) and not writes(table, row)
        if not rpm or not mean or not alone:
            continue
        yield None
        wait = 30 / rpm * units.NS_PER_S
        if mean < PART * wait:
            text = f"{units.duration(mean)} for a random read, where half a revolution at {rpm:g} rpm takes "
            text += units.duration(wait)
            yield flag(row, text, broken=table.word(row, "caching") == "off", numbers={"mean": mean, "wait": wait})
