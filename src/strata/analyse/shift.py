"""How far apart two latency distributions are: the largest gap between their cumulative shares (Kolmogorov 1933).

With millions of dependent I/Os a test of "the same distribution" always says no, so this is a size and where it is,
never a p-value. The rounds of a run are averaged quantile by quantile on logarithms (Vincent averaging), which keeps
the shape where a pooled distribution of rounds that drift would be smeared.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from strata.analyse.rows import Floats
from strata.model.compared import Gap
from strata.model.step_figures import GRID

Cells = Sequence[Sequence[bytes]]
"""Of each cell and round the quantiles at `GRID` as `strata.model.step_figures.pack` gave them."""
_SHARES = np.array((0.0, *GRID)) / 100
_LENGTH = 4 * len(GRID)
_SAME = 1 + 1e-9
"""Times that differ by less are one: what was kept has seven digits."""


def gaps_of(a: Cells, b: Cells) -> list[Gap | None]:
    """Of each cell, from its rounds on each side; None where one side has no histogram."""
    left, right = _averaged(a), _averaged(b)
    at = np.concatenate([left, right], axis=1)
    done = []
    for side in (left, right):
        passed = [q.searchsorted(times, side="right") for q, times in zip(side, at * _SAME, strict=True)]
        done.append(_SHARES[np.array(passed, dtype=np.intp).reshape(at.shape)])
    where = np.argmax(np.abs(done[0] - done[1]), axis=1)
    there = ~np.isnan(at).any(axis=1)
    return [
        Gap(at_ns=float(at[cell, i]), a=float(done[0][cell, i]), b=float(done[1][cell, i])) if there[cell] else None
        for cell, i in enumerate(where)
    ]


def _averaged(cells: Cells) -> Floats:
    """A row of `GRID` for each cell; NaN where none of its rounds has a histogram."""
    there = [(cell, packed) for cell, rounds in enumerate(cells) for packed in rounds if len(packed) == _LENGTH]
    owners = np.array([cell for cell, _ in there], dtype=np.intp)
    times = np.frombuffer(b"".join(packed for _, packed in there), dtype=np.float32).reshape(-1, len(GRID))
    logs = np.log(np.maximum(times.astype(np.float64), 1.0))
    total = np.zeros((len(cells), len(GRID)))
    np.add.at(total, owners, logs)
    rounds = np.bincount(owners, minlength=len(cells))[:, None]
    made: Floats = np.exp(np.divide(total, rounds, out=np.full_like(total, np.nan), where=rounds > 0))
    return made
