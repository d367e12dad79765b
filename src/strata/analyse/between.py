"""What equal runs of a cell differ by, beside the noise of their rounds, learnt from runs that are none of the two.

A cell's own runs say it best, and are few: their variance less what their rounds explain (`strata.analyse.again`, the
method of moments), with as many degrees of freedom as there are runs but one. The median over the cells that were
looked at stands in for the others and is a floor under each: all cells of a run share most of what a run differs by.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from strata.analyse.again import since_change, spread_between
from strata.analyse.rows import Floats, pooled, spread, table

FEWEST = 6
"""Runs of a cell: fewer would be known worse than a change of the margin."""
LOOKED_AT = 8
"""Cells whose history is always read; of more, these are spread over the plan, and those that stand out are added."""
SAID_DF = 30.0
"""What is said by hand counts as known so well."""

History = Callable[[Sequence[str]], Sequence[Sequence[Sequence[float]]]]
"""Of each of the named cells: the IOPS of the rounds of each other run, the oldest first."""


@dataclass(frozen=True)
class Between:
    """A relative standard deviation, from so many runs."""

    sd: float
    runs: int


def between_of(runs: Sequence[Sequence[float]]) -> Between | None:
    """Of runs of one cell since its last change of level, the oldest first; None with fewer than `FEWEST`."""
    logs = np.log(table(runs))
    gone = np.isnan(logs)
    counts = np.sum(~gone, axis=1)
    levels = np.sum(np.where(gone, 0.0, logs), axis=1) / counts
    kept = since_change([math.exp(x) for x in levels])
    if len(levels) - kept < FEWEST:
        return None
    rounds = pooled(*spread(logs))
    inside = (rounds.variance if rounds.df > 0 else 0.0) / counts[kept:]
    return Between(math.sqrt(spread_between(levels[kept:], inside)), len(levels) - kept)


class Learnt:
    """The noise between runs of every cell of a table, from histories that are read as they are needed."""

    def __init__(self, names: Sequence[str], history: History) -> None:
        self._names, self._history = names, history
        self._found: dict[int, Between | None] = {}
        self.look_at(range(0, len(names), max(1, math.ceil(len(names) / LOOKED_AT))))
        known = [b for b in self._found.values() if b is not None]
        self.pool = statistics.median(b.sd for b in known) if known else None
        self.runs = min((b.runs for b in known), default=None)

    def look_at(self, rows: Iterable[int]) -> bool:
        """Whether any of these had not been looked at."""
        new = [i for i in rows if i not in self._found]
        told = self._history([self._names[i] for i in new]) if new else ()
        self._found |= {i: between_of(runs) for i, runs in zip(new, told, strict=True)}
        return bool(new)

    def rows(self) -> tuple[Floats, Floats]:
        """(relative standard deviation, degrees of freedom) of each cell: its own where it is above the pool's."""
        sd = np.full(len(self._names), self.pool or 0.0)
        df = np.full(len(self._names), (self.runs or FEWEST) - 1.0)
        for i, own in self._found.items():
            if own is not None and own.sd >= sd[i]:
                sd[i], df[i] = own.sd, own.runs - 1
        return sd, df


class StatedVariation:
    """The same of what the user said, or of nothing."""

    runs: int | None = None

    def __init__(self, between_runs: float | None, cells: int) -> None:
        self.pool, self._cells = between_runs, cells

    def look_at(self, rows: Iterable[int]) -> bool:
        """There is nothing to look at."""
        return False

    def rows(self) -> tuple[Floats, Floats]:
        """(relative standard deviation, degrees of freedom) of each cell."""
        return np.full(self._cells, self.pool or 0.0), np.full(self._cells, SAID_DF)
