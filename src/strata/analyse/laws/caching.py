"""Caching and durability are as requested.

What it claims
    The page cache was as cold or warm, and every write as durable, as the workload requested.
Why it matters
    A cold cache that was not cold measures memory, and a write-through that was not written through measures a promise
    only.
Evidence
    The pages in memory before and after each measurement, and the flags read back from the open file.
What rules it out
    Nothing: the figures are kept with a caveat, as they belong to another state than the one in their name.
Source
    Strata's own rule.
"""

from __future__ import annotations

from strata.analyse.laws.base import Answers, RunView, caveat

NAME, TITLE, ORDER = "caching", "caching requested and in effect", 180
SAYS = "the cache was not as cold or warm, or a write not as durable, as requested"
NEXT = "Remove what keeps the file in memory, or request the caching that was in effect."


def of_run(run: RunView) -> Answers:
    for cell in run.rounds.values():
        states = [r.result.caching for r in cell.results if r.result is not None and r.result.caching is not None]
        departing = [s for s in states if s.departures]
        if not departing:
            continue
        text = "; ".join(departing[0].departures)
        if len(states) > 1:
            text = f"in {len(departing)} of {len(states)} rounds, for example: {text}"
        yield caveat(text, cell.layer, cell.workload.key)
