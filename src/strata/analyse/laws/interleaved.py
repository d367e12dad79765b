"""Sequential I/O from several threads is not sequential.

What it claims
    Sequential writes issued by more than one thread over one shared position reach the device out of order.
Why it matters
    On a rotating disk their rate falls to that of random writes; the measurement shows the dispatch, not the medium.
    Reads are not affected because of read-ahead.
Evidence
    A sequential write pattern with more than one thread.
What rules it out
    Threads with a range of their own each (the label `ranges` is `own`), or of which it is not said (`unknown`).
Source
    Microsoft, Cluster Shared Volume: a systematic approach to finding bottlenecks (two threads on the bare disk
    reproduced the loss seen through a share, sequential reads were unaffected).
"""

from __future__ import annotations

from strata.analyse.laws.base import Answers, flag, measured
from strata.model.figures import Table

NAME, TITLE, ORDER = "interleaved", "interleaved sequential writes", 130
SAYS = "several threads write one sequential stream"
NOT_SHARED = ("own", "unknown")
"""Labels by which threads do not write one stream, or are not known to."""
NEXT = "Report it as interlocked multi-threaded sequential, and run it with one thread as well."


def check(table: Table) -> Answers:
    for row in measured(table, "threads"):
        pattern, threads = (table.word(row, "pattern") or "").partition(",")[0], row.figures["threads"].base
        if pattern:
            yield None
        if threads <= 1 or pattern != "sequential write" or table.word(row, "ranges") in NOT_SHARED:
            continue
        text = (
            f"{threads:g} threads write one sequential stream: the writes arrive interleaved, close to random for a "
            "rotating disk"
        )
        yield flag(row, text, column="threads", numbers={"threads": threads})
