"""Two levels that take turns: stalls, where one of them is nothing, and slow phases.

The bins of each round are compared with their own upper level (the 80th percentile: what is slow may be more than half
of the time) and all of them split in two where the variance between the parts is greatest (Otsu 1979). Any series can
be split; it has two levels only where they lie `APART` (the D of Ashman, Bird and Zepf 1994; 2.7 for the halves of one
normal distribution, however correlated). How long an episode was is not counted in bins but in what was not done in
it: a stall of 60 ms covers three bins of 20 ms in part or whole, and three bins' worth is lost either way.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from strata.analyse.series.longrun import Floats
from strata.model.steadiness import Episodes

Flags = NDArray[np.bool_]

UPPER = 0.8
APART = 3.3
DEPTH = 0.65
"""The lower level is at most this share of the upper one."""
NOTHING = 0.02
"""Of the upper level: so little is what the edges of bins leave of nothing."""
REGULAR = 0.15
"""Gaps between begins that differ by less than this share are one period."""
FEWEST_GAPS = 3
KEPT = 0.8
FEWEST = 12
"""Bins over all rounds below which nothing is said."""


def episodes(rounds: Sequence[Floats], bin_s: float) -> Episodes | None:
    """Of the counts of equally long bins, a series for each round; None where there is only one level."""
    levels = [level for one in rounds if (level := _relative(one)) is not None]
    together = np.concatenate(levels) if levels else np.zeros(0)
    if together.size < FEWEST or (edge := _edge(together)) is None:
        return None
    upper = float(together[together >= edge].mean())
    runs = [(one / upper, start, end) for one in levels for start, end in _runs(_low(one, edge))]
    low = float(np.median([_inside(one, start, end).mean() for one, start, end in runs]))
    lost = [_lost(one, start, end) for one, start, end in runs]
    # Where little is done instead of nothing, the same loss takes longer.
    lengths = [bin_s * x / (1 - low) for x in lost]
    whole = [n for n, (one, start, end) in zip(lengths, runs, strict=True) if start > 0 and end < one.size] or lengths
    return Episodes(
        share=min(1.0, sum(lengths) / (together.size * bin_s)),
        count=len(runs),
        length_s=sum(whole) / len(whole),
        longest_s=max(lengths),
        factor=None if low <= NOTHING else 1 / low,
        period_s=_period(levels, edge, bin_s),
    )


def _relative(counts: Floats) -> Floats | None:
    top = float(np.quantile(counts, UPPER)) if counts.size else 0.0
    return None if top <= 0 else np.asarray(np.minimum(counts / top, 1.5), dtype=np.float64)


def _edge(values: Floats) -> float | None:
    """Where the two levels part; None where there are no two."""
    ordered = np.sort(values)
    n = ordered.size
    sums = np.cumsum(ordered)
    first = np.arange(1, n)
    means = sums[:-1] / first, (sums[-1] - sums[:-1]) / (n - first)
    at = int(np.argmax(first * (n - first) * (means[1] - means[0]) ** 2))
    low, high = ordered[: at + 1], ordered[at + 1 :]
    if low.mean() > DEPTH * high.mean():
        return None
    spread = math.hypot(float(np.std(low)), float(np.std(high)))
    apart = math.sqrt(2) * float(high.mean() - low.mean()) / max(spread, 1e-9)
    return float(ordered[at] + ordered[at + 1]) / 2 if apart >= APART else None


def _low(one: Floats, edge: float) -> Flags:
    """The bins of the lower level. Single ones that stand out of their neighbours are noise, unless most are single."""
    low = one < edge
    around = np.convolve(np.pad(low, 1, mode="edge"), np.ones(3), mode="valid") >= 2
    return around if KEPT * low.sum() <= (around & low).sum() else low


def _runs(low: Flags) -> list[tuple[int, int]]:
    """(first, one behind the last) of each stretch."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], low.astype(int), [0]])))
    return [(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def _inside(one: Floats, start: int, end: int) -> Floats:
    """Without the bins at its edges, which hold some of both levels; of two bins the lower one."""
    return one[start + 1 : end - 1] if end - start > 2 else one[start:end].min(keepdims=True)


def _lost(one: Floats, start: int, end: int) -> float:
    """Bins' worth of the upper level that was not done in it and in the bins beside it."""
    around = one[max(0, start - 1) : end + 1]
    return float(np.clip(1 - around, 0.0, 1.0).sum())


def _period(rounds: Sequence[Floats], edge: float, bin_s: float) -> float | None:
    """From begin to begin and from end to end; what was cut off at the edge of a round has only one of them."""
    gaps: list[int] = []
    for one in rounds:
        runs = _runs(_low(one, edge))
        begins, ends = [a for a, _ in runs if a > 0], [b for _, b in runs if b < one.size]
        gaps += [b - a for side in (begins, ends) for a, b in pairwise(side)]
    if len(gaps) < FEWEST_GAPS:
        return None
    middle = float(np.median(gaps))
    near = [g for g in gaps if abs(g - middle) <= max(1.0, REGULAR * middle)]
    return bin_s * sum(near) / len(near) if len(near) >= 0.8 * len(gaps) else None
