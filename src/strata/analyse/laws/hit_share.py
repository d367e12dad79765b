"""A cache answers its share of a working set.

What it claims
    Of uniformly random reads over a working set that is larger than the cache, the cache answers the share of it that
    it holds: cache ÷ working set.
Why it matters
    A cache that answers much less is cold, bypassed or used by others; one that answers much more is not the only one.
    The share also says what more memory would bring: twice the cache answers twice of it, as long as not everything
    fits.
Evidence
    `file`, `cache`, the label `caching` (`on`), a random read, and `reached`: bytes that the device read for each byte
    requested, so that 1 − `reached` is the share that was answered before it.
What rules it out
    Caching turned off; a working set that fits; a pattern that is not uniform (Zipf, a hot part), for a share that is
    too large. A difference of a tenth of all reads is not told.
Source
    The independent reference model: of equally likely blocks, each of the resident ones is hit alike (King, Analysis of
    demand paging algorithms, IFIP 1971).
"""

from __future__ import annotations

from strata import units
from strata.analyse.laws.base import Answers, flag, is_random, measured, writes
from strata.model.figures import Table

NAME, TITLE, ORDER = "hit-share", "share of reads from a cache", 175
SAYS = "a cache answers more or less than its share of the working set"
APART = 0.1
LITTLE = 0.05
"""Below this share of the working set there is nothing to be told."""


def check(table: Table) -> Answers:
    for row in measured(table, "reached", "file", "cache"):
        reached, file, cache = (row.figures[key].base for key in ("reached", "file", "cache"))
        if table.word(row, "caching") != "on" or not is_random(table, row) or writes(table, row) or file <= cache > 0:
            continue
        if "," in (table.word(row, "pattern") or ""):
            # An order of its own: not every block is as likely as the others.
            continue
        share, hits = cache / file, 1 - min(1.0, reached)
        if share < LITTLE and hits < APART:
            continue
        yield None
        numbers = {"hits": hits, "share": share}
        where = f"the cache of {units.size(cache)} holds {units.percent(share)} of {units.size(file)}, and "
        if hits < share / 2 and share - hits > APART:
            text = f"{where}answers {units.percent(hits)} of the reads: it is cold, bypassed or used by others"
            step = f"Read the working set once and measure again; warm, twice the cache answers {_twice(share)}."
            yield flag(row, text, step, column="reached", numbers=numbers)
        elif hits > share + APART:
            text = f"{where}{units.percent(hits)} of the reads are answered before the device: another cache does, or "
            text += "some blocks are read more often than others"
            step = "Find the other cache (of the host, the controller, the device), or name the distribution."
            yield flag(row, text, step, column="reached", numbers=numbers)


def _twice(share: float) -> str:
    return units.percent(min(1.0, 2 * share))
