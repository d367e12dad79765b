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

_SHARES = np.array((0.0, *GRID)) / 100


def gap_of(a: Sequence[Sequence[float]], b: Sequence[Sequence[float]]) -> Gap | None:
    """From the quantiles of the rounds of each side at `GRID`; None where one has none."""
    left, right = _averaged(a), _averaged(b)
    if left is None or right is None:
        return None
    at = np.concatenate([left, right])
    done_a, done_b = (_SHARES[np.searchsorted(q, at * (1 + 1e-9), side="right")] for q in (left, right))
    i = int(np.argmax(np.abs(done_a - done_b)))
    return Gap(at_ns=float(at[i]), a=float(done_a[i]), b=float(done_b[i]))


def _averaged(rounds: Sequence[Sequence[float]]) -> Floats | None:
    there = [r for r in rounds if len(r) == len(GRID)]
    if not there:
        return None
    logs = np.log(np.maximum(np.array(there, dtype=np.float64), 1.0))
    made: Floats = np.exp(logs.sum(axis=0) / len(there))
    return made
