"""A repeated seed.

What it claims
    Repetitions of a random workload draw different offsets each time.
Why it matters
    With the same seed the second run reads blocks that the first one left in a cache, and the repetitions do not show
    the variation.
Evidence
    Measured rows with a random pattern that differ only in their repetition and have the same seed.
What rules it out
    Sequential patterns; a single row.
Source
    The manual of fio on `randrepeat`, which repeats its offsets unless told otherwise.
"""

from __future__ import annotations

from strata.analyse.laws.base import Answers, flag, groups, is_random, measured
from strata.model.figures import Table

NAME, TITLE, ORDER = "seed", "repeated seed", 140
SAYS = "repetitions draw the same random offsets"
NEXT = "Give each repetition its own seed."


def check(table: Table) -> Answers:
    """One flag for each set of repetitions that share a seed."""
    random = [r for r in measured(table, "seed") if is_random(table, r)]
    for rows in groups(random, "round", "run").values():
        if len(rows) > 1:
            yield None
        by: dict[tuple[object, ...], int] = {}
        for row in rows:
            settings = [row.figures[k].base for k in ("size", "depth", "threads") if k in row.figures]
            key = (row.figures["seed"].base, *settings)
            by[key] = by.get(key, 0) + 1
        for (seed, *_), times in by.items():
            if times > 1:
                text = (
                    f"{times} repetitions draw the same random offsets (seed {seed}): later ones find them in a cache"
                )
                yield flag(rows[0], text, column="seed", numbers={"repetitions": times})
