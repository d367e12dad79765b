"""What a budget brings, and what an asked error takes, from the noise alone.

A typical cell gets budget / cells; starts and seconds are split as in `next`. Cells differ in their variance by as
much as the pool's degrees of freedom say (a scaled inverse chi-square: Smyth 2004), so the 95th percentile over cells
is that of a noisy cell, and the time for all cells is the sum over that distribution. Smoothing is left out of the
errors: what it brings is not known before.

The time for an asked error is a range: over what equal starts may differ by (`starts`), over how far the few cells that
were seen may be from the others, and over what smoothing can bring at best and at worst.
"""

from __future__ import annotations

import math

import numpy as np

from strata.analyse.matrix.needed import MOST_OF_THEM, Needed, more, needed_of
from strata.analyse.matrix.next import VISITS_MOST, visit_seconds
from strata.analyse.matrix.starts import Starts, plausible, share_below
from strata.analyse.matrix.table import NARROWED_MOST
from strata.model.matrix import BudgetPrediction, Known
from strata.model.noise import PooledNoise

LEVELS = 41
SHIFTS = (-1.28, -0.52, 0.0, 0.52, 1.28)
"""Fifths of a normal distribution: how far the cells that were seen may be from the typical one."""
GAINS = (1.0, 0.8, NARROWED_MOST)
"""A smoothed interval over a cell's own: nothing gained, something, the most."""


def predict(
    noise: PooledNoise, known_from: Known, *, cells: int, budget_s: float, start_s: float, target: float,
    shortest: float, longest: float, brief: float | None = None, starts: Starts | None = None,
) -> BudgetPrediction:  # fmt: skip
    """Of ``cells`` alike but for their noise, in ``budget_s``; ``target`` is a relative half-width. ``brief`` is the
    length of each cell's first visit (None: the shortest); ``starts`` what equal starts may differ by (None: what
    ``noise`` says)."""
    variances = _variances(noise)
    each = budget_s / max(1, cells)
    # Neyman: time in proportion to the standard deviation of a cell.
    share = np.sqrt(variances + noise.between**2 * 0.25)
    share = share / share.mean()
    errors = np.array(
        [_error(noise, v, start_s, each * s, shortest, longest) for v, s in zip(variances, share, strict=True)]
    )
    spread = plausible((), noise, noise) if starts is None else starts
    first = shortest if brief is None else brief
    needed = _needed(noise, spread, math.log1p(target), cells, first, start_s, shortest, longest)
    normal = np.abs(np.random.default_rng(0).standard_normal(4000))
    drawn = np.concatenate([normal * e for e in errors])
    return BudgetPrediction(
        known_from=known_from,
        noise=noise,
        seconds=budget_s,
        seconds_a_cell=each,
        error_median=float(np.median(drawn)),
        error_p95=float(np.quantile(drawn, 0.95)),
        half_width=1.96 * float(np.median(errors)),
        target=target,
        seconds_for_target=needed.seconds,
        seconds_low=needed.low,
        seconds_high=needed.high,
    )


def _needed(
    noise: PooledNoise, starts: Starts, target: float, cells: int, brief: float, start_s: float, shortest: float,
    longest: float,
) -> Needed:  # fmt: skip
    """The median over all that is plausible, and its range."""
    base = _variances(noise)
    one = np.ones(base.size)
    off = math.sqrt(2 / max(noise.spread_df, 1.0) / max(1, noise.cells))
    seconds, weights, possible = [], [], []
    for between, weight in zip(starts.between, starts.weight, strict=True):
        for shift in SHIFTS:
            variances = base * math.exp(off * shift)
            for gain in GAINS:
                wanted = one * (target / 1.96 / gain) ** 2
                took, done = more(
                    float(between) * one, variances, one, one * brief, wanted, 0 * one,
                    start_s=start_s, shortest=shortest, longest=longest,
                )  # fmt: skip
                seconds.append(cells * (brief + start_s + float(took.mean())))
                weights.append(weight / len(SHIFTS) / len(GAINS))
                possible.append(float(done.mean()))
    every, weight_of, all_done = np.array(seconds), np.array(weights), np.array(possible)
    found = needed_of(every, weight_of, all_done)
    if found.seconds is None:
        return found
    middle = share_below(np.where(all_done > MOST_OF_THEM, every, math.inf), weight_of, 0.5)
    return Needed(middle, found.low, found.high)


def _variances(noise: PooledNoise) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Quantiles of the cells' variances a second around the pooled one."""
    from scipy.special import gammaincinv

    df = max(noise.spread_df, 1.0)
    levels = (np.arange(LEVELS) + 0.5) / LEVELS
    found = noise.variance_s * df / (2 * gammaincinv(df / 2, 1 - levels))
    return np.asarray(np.minimum(found, 100 * noise.variance_s), dtype=float)


def _error(
    noise: PooledNoise, variance_s: float, start_s: float, seconds: float, shortest: float, longest: float
) -> float:
    length = visit_seconds(noise.between, variance_s, start_s, shortest, longest)
    starts = max(1.0, min(seconds / (length + start_s), float(VISITS_MOST)))
    length = min(length, max(shortest, seconds - start_s))
    return math.sqrt((noise.between**2 + variance_s / length) / starts)
