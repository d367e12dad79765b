"""A Gaussian process over depth and size, one for each pattern, with the cells' own noise.

Matérn 3/2 on log2 depth and log2 size (Rasmussen and Williams 2006, chapters 2, 4 and 5); beside it each cell may
have a deviation of its own, which is real and no noise (``own``): a table has kinks, and where it has many this grows
until nothing is smoothed. The patterns share their hyperparameters, found by marginal likelihood, and nothing else:
one process over all of them, with patterns a distance apart, was hardly closer to known tables and took twenty times
as long. Leave-one-out predictions are in closed form (equations 5.10 to 5.12).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from strata.analyse.series.longrun import Floats

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

START = np.log(np.array([0.1, 2.0, 2.0, 0.01]))
"""log of: smooth deviation, reach in doublings of depth, of size, each cell's own deviation."""
LOW = np.log(np.array([1e-3, 0.3, 0.3, 1e-4]))
HIGH = np.log(np.array([1.5, 16.0, 16.0, 0.5]))
HELD = np.array([2.0, 1.0, 1.0, 1.5])
"""Standard deviations of the log-normal priors around `START`."""


@dataclass(frozen=True)
class Smooth:
    """At every cell: mean and variance given all cells, and given all others (``loo_…``); ``theta`` of the kernel."""

    mean: Floats
    variance: Floats
    loo_mean: Floats
    loo_variance: Floats
    theta: Floats


def smooth(
    where: Floats, pattern: Ints, level: Floats, noise: Floats, used: Bools, theta: Floats | None = None
) -> Smooth:
    """``where`` (cells × 2): log2 of depth and size; ``level`` what is left of the form, with variance ``noise``.

    Only cells in ``used`` inform the others; what is said of the rest comes from them alone. With ``theta`` the
    hyperparameters are taken as they are.
    """
    chosen = fit(where[used], pattern[used], level[used], noise[used]) if theta is None else theta
    n = level.size
    made = Smooth(np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n), chosen)
    for here in _patterns(pattern):
        _one(made, here, where, level, noise, used, chosen)
    return made


def _one(
    made: Smooth, here: Ints, where: Floats, level: Floats, noise: Floats, used: Bools, theta: Floats
) -> None:  # fmt: skip
    """Fills in the cells of one pattern."""
    signal = kernel(where[here], theta)
    own = float(np.exp(2 * theta[3]))
    seen = used[here]
    places = here[seen]
    mean, variance = np.zeros(here.size), np.diag(signal).copy()
    if seen.any():
        inverse = np.linalg.inv(signal[np.ix_(seen, seen)] + np.diag(noise[places] + own + 1e-10))
        weights = inverse @ level[places]
        across = signal[:, seen]
        mean = across @ weights
        variance = variance - np.sum((across @ inverse) * across, axis=1)
    loo_mean, loo_variance = mean, np.maximum(variance, 1e-12) + own
    made.mean[here], made.variance[here] = loo_mean, loo_variance
    made.loo_mean[here], made.loo_variance[here] = loo_mean, loo_variance
    if not seen.any():
        return
    # Of the cells that take part: the deviation of its own is signal too.
    diagonal = np.diag(inverse)
    alone = level[places] - weights / diagonal
    left = np.maximum(1 / diagonal - noise[places], 1e-12)
    gain = left / (left + noise[places])
    made.loo_mean[places], made.loo_variance[places] = alone, left
    made.mean[places], made.variance[places] = alone + gain * (level[places] - alone), left * (1 - gain)


def kernel(where: Floats, theta: Floats) -> Floats:
    """Covariance of the smooth deviation between all cells of one pattern."""
    scale, depth, size = np.exp(theta[:3])
    square = ((where[:, None, 0] - where[None, :, 0]) / depth) ** 2
    square = square + ((where[:, None, 1] - where[None, :, 1]) / size) ** 2
    far = np.sqrt(3 * square)
    found: Floats = scale**2 * (1 + far) * np.exp(-far)
    return found


def fit(where: Floats, pattern: Ints, level: Floats, noise: Floats) -> Floats:
    """Hyperparameters of the greatest marginal likelihood of all patterns, held by wide log-normal priors at
    `START`."""
    from scipy.optimize import minimize

    found = minimize(
        cost, START, args=(where, pattern, level, noise), jac=True, method="L-BFGS-B",
        bounds=list(zip(LOW, HIGH, strict=True)), options={"maxiter": 40},
    )  # fmt: skip
    theta: Floats = np.asarray(found.x, dtype=float)
    return theta


def cost(theta: Floats, where: Floats, pattern: Ints, level: Floats, noise: Floats) -> tuple[float, Floats]:
    """Negative log posterior of the hyperparameters, and its gradient (Rasmussen and Williams, equation 5.9)."""
    held = (theta - START) / HELD
    total, gradient = 0.5 * float(held @ held), held / HELD
    for here in _patterns(pattern):
        misfit, change = _misfit(theta, where[here], level[here], noise[here])
        total, gradient = total + misfit, gradient + change
    return total, gradient


def _misfit(theta: Floats, where: Floats, level: Floats, noise: Floats) -> tuple[float, Floats]:
    scale, depth, size, own = np.exp(theta)
    deep = ((where[:, None, 0] - where[None, :, 0]) / depth) ** 2
    wide = ((where[:, None, 1] - where[None, :, 1]) / size) ** 2
    far = np.sqrt(3 * (deep + wide))
    decay = scale**2 * np.exp(-far)
    signal = decay * (1 + far)
    whole = signal + np.diag(noise + own**2 + 1e-10)
    sign, size_of = np.linalg.slogdet(whole)
    if sign <= 0:
        return 1e10, np.zeros(theta.size)
    inverse = np.linalg.inv(whole)
    weights = inverse @ level
    misfit = 0.5 * float(level @ weights) + 0.5 * float(size_of) + 0.5 * level.size * math.log(2 * math.pi)
    middle = inverse - np.outer(weights, weights)
    # d k / d log ℓ = 3 s² (Δ/ℓ)² exp(−√3 r).
    changes = (2 * signal, 3 * decay * deep, 3 * decay * wide)
    gradient = [0.5 * float(np.sum(middle * c)) for c in changes]
    return misfit, np.array([*gradient, float(np.trace(middle)) * own**2])


def _patterns(pattern: Ints) -> Iterator[Ints]:
    for one in np.unique(pattern):
        yield np.flatnonzero(pattern == one)
