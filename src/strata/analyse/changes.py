"""Where the level of a series of runs changed, by binary segmentation (Scott & Knott 1974; Vostrikova 1981).

For every place that leaves `SHORTEST` runs on both sides, the two levels are compared by t on logarithms; the largest
t is the candidate. Its p-value is Student's, times the number of places looked at (Worsley 1979 bounds the maximum so;
it is on the safe side), so the level of a whole history without a change is at most `ALPHA`, at any length. Found
places split the series, and both parts are looked at again; then each is tested once more against its neighbours
alone, which takes out those that only a later split explains.

Runs are not independent (a warm day, a fuller disk): t is divided by sqrt((1 + r)/(1 - r)), r the correlation of one
run with the next, which scales it to the variance of a mean over the long run. r comes from differences, which a few
changes of level do not disturb: of a first-order process the variance over two runs is 1 + r times that over one.
Single runs that a neighbour spoilt are drawn in to `REACH` robust standard deviations of their level's neighbourhood
before anything.

Why not a library: a PELT penalty has no error level and finds five changes in a correlated series that has none;
E-divisive's permutations give p-values no smaller than their number, too coarse where hundreds of cells are looked at.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from strata.analyse.rows import Floats, median
from strata.analyse.stats import t_quantile
from strata.model.estimate import Estimate

ALPHA = 0.04
"""Bound on the chance of any change in a history that has none; a little less than what is promised."""
SHORTEST = 3
WINDOW = 7
REACH = 3.0
R_MOST = 0.8


@dataclass(frozen=True)
class Found:
    """A new level from ``index`` on; ``ratio`` is after ÷ before."""

    index: int
    ratio: Estimate
    p: float


def change_points(values: Sequence[float], *, alpha: float = ALPHA) -> tuple[Found, ...]:
    """The changes of a series of positive values in the order of the runs; none in fewer than 2 · `SHORTEST`."""
    if len(values) < 2 * SHORTEST:
        return ()
    x = _drawn_in(np.log(np.asarray(values, dtype=np.float64)))
    far = _stretch(x)
    cuts = _confirmed(x, _split(x, 0, len(x), alpha, far), alpha, far)
    edges = [0, *cuts, len(x)]
    return tuple(
        Found(index=edges[i], ratio=ratio, p=p)
        for i in range(1, len(edges) - 1)
        for p, ratio in [_change(x[edges[i - 1] : edges[i + 1]], edges[i] - edges[i - 1], far)]
    )


def noise_of(values: Sequence[float], cuts: Sequence[int]) -> float | None:
    """The relative standard deviation of runs within their levels (``cuts`` are the first runs of new ones)."""
    x = np.log(np.asarray(values, dtype=np.float64))
    parts = [p for p in np.split(x, list(cuts)) if len(p) > 1]
    df = sum(len(p) - 1 for p in parts)
    return math.sqrt(sum(float(np.sum((p - p.mean()) ** 2)) for p in parts) / df) if df >= 2 else None


def _split(x: Floats, start: int, end: int, alpha: float, far: float) -> list[int]:
    part = x[start:end]
    if len(part) < 2 * SHORTEST:
        return []
    k, p = _best(part, far)
    if p > alpha:
        return []
    at = start + k
    return [*_split(x, start, at, alpha, far), at, *_split(x, at, end, alpha, far)]


def _confirmed(x: Floats, cuts: list[int], alpha: float, far: float) -> list[int]:
    """Weakest first, until every cut holds between its neighbours."""
    cuts = list(cuts)
    while cuts:
        edges = [0, *cuts, len(x)]
        p = [_tested(x[edges[i] : edges[i + 2]], edges[i + 1] - edges[i], far)[0] for i in range(len(cuts))]
        worst = int(np.argmax(p))
        if p[worst] <= alpha:
            break
        del cuts[worst]
    return cuts


def _best(part: Floats, far: float) -> tuple[int, float]:
    """(the place with the largest t, its p-value over all places)."""
    n = len(part)
    k = np.arange(SHORTEST, n - SHORTEST + 1)
    left, squares = np.cumsum(part)[k - 1], np.cumsum(part**2)
    a, b = left / k, (part.sum() - left) / (n - k)
    rest = np.maximum(squares[-1] - k * a**2 - (n - k) * b**2, 1e-18)
    t = np.abs(a - b) / np.sqrt(rest / (n - 2) * (1 / k + 1 / (n - k)))
    i = int(np.argmax(t))
    return int(k[i]), _tested(part, int(k[i]), far)[0]


def _change(part: Floats, k: int, far: float) -> tuple[float, Estimate]:
    """(p of a change at ``k``; after ÷ before with its interval)."""
    p, d, se = _tested(part, k, far)
    half = t_quantile(len(part) - 2) * se
    low, high = math.exp(d - half), math.exp(d + half)
    return p, Estimate(value=math.exp(d), low=low, high=high, n=min(k, len(part) - k), unit="ratio")


def _tested(part: Floats, k: int, far: float) -> tuple[float, float, float]:
    """(p of a change at ``k``, bounded for all places of the part; the change as a logarithm, its standard error)."""
    from scipy.special import stdtr

    n, a, b = len(part), part[:k], part[k:]
    rest = np.concatenate([a - a.mean(), b - b.mean()])
    square = float(rest @ rest)
    df = n - 2
    se = math.sqrt(max(square, 1e-18) / df * (1 / k + 1 / (n - k))) * far
    d = float(b.mean() - a.mean())
    places = n - 2 * SHORTEST + 1
    p = min(1.0, 2 * float(stdtr(df, -abs(d) / se)) * places)
    return p, d, se


def _stretch(x: Floats) -> float:
    """What the standard error of a mean is longer by, for the correlation of one run with the next."""
    one, two = (_bounded_variance(x[lag:] - x[:-lag]) for lag in (1, 2))
    r = min(R_MOST, max(0.0, two / one - 1)) if one > 0 else 0.0
    return math.sqrt((1 + r) / (1 - r))


def _bounded_variance(steps: Floats) -> float:
    """About 0; a change of level is one large step (two, over two runs), and is drawn in."""
    reach = REACH * 1.4826 * median(np.abs(steps))
    return float(np.mean(np.clip(steps, -reach, reach) ** 2))


def _drawn_in(x: Floats) -> Floats:
    """Single spikes brought to the edge of what their neighbourhood does; a new level is no spike."""
    steps = np.diff(x)
    spread = 1.4826 * median(np.abs(steps - median(steps))) / math.sqrt(2)
    if spread <= 0:
        return x
    half = WINDOW // 2
    padded = np.pad(x, half, mode="reflect")
    middle = np.sort(np.lib.stride_tricks.sliding_window_view(padded, WINDOW), axis=1)[:, half]
    return np.clip(x, middle - REACH * spread, middle + REACH * spread)
