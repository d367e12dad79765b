"""Medians, ratios and their intervals over interleaved rounds."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

COVERAGE = 0.95
RESAMPLES = 2000


@dataclass(frozen=True)
class Estimate:
    """A value with its interval; without one (`low` is None) after a single round. `n` is the number of rounds."""

    value: float
    low: float | None
    high: float | None
    n: int


def exact(value: float) -> Estimate:
    """A figure without chance: the interval is the figure."""
    return Estimate(value, value, value, 1)


def median(values: Sequence[float]) -> Estimate:
    """The median, and the narrowest pair of order statistics that holds it with 95 %.

    Below six values no pair does; then it is the smallest and the largest.
    """
    ordered = sorted(values)
    n = len(ordered)
    middle = statistics.median(ordered)
    if n < 2:
        return Estimate(middle, None, None, n)
    cut = 0
    while cut + 1 < n / 2 and 1 - 2 * _tail(n, cut + 1) >= COVERAGE:
        cut += 1
    return Estimate(middle, ordered[cut], ordered[n - 1 - cut], n)


def paired(ours: Sequence[float], theirs: Sequence[float]) -> Estimate:
    """Median of the ratios within a round: what slows a whole round falls out."""
    return median([a / b for a, b in zip(ours, theirs, strict=True)])


def pooled(ours: Sequence[float], theirs: Sequence[float], seed: int = 1) -> Estimate:
    """Ratio of the sums over all rounds, with a bootstrap over the rounds.

    For processor time in user mode: the kernel splits user from system by ticks, so one round holds few of them.
    A denominator of zero (no tick at all) is no figure: the interval is then without end.
    """
    n = len(ours)
    value = _ratio(sum(ours), sum(theirs))
    if n < 2:
        return Estimate(value, None, None, n)
    chance = random.Random(seed)
    drawn = []
    for _ in range(RESAMPLES):
        rounds = [chance.randrange(n) for _ in range(n)]
        drawn.append(_ratio(sum(ours[i] for i in rounds), sum(theirs[i] for i in rounds)))
    drawn.sort()
    edge = int(RESAMPLES * (1 - COVERAGE) / 2)
    return Estimate(value, drawn[edge], drawn[-1 - edge], n)


def _ratio(a: float, b: float) -> float:
    return a / b if b > 0 else math.inf


def _tail(n: int, k: int) -> float:
    """Chance that at most `k` of `n` values lie below the true median."""
    return float(sum(math.comb(n, i) for i in range(k + 1)) / 2**n)
