"""A Gaussian process over depth, size and pattern, with the cells' own noise.

Matérn 3/2 on log2 depth and log2 size, patterns a distance apart (Rasmussen and Williams 2006, chapters 2, 4 and 5);
beside it each cell may have a deviation of its own, which is real and no noise (``own``): a table has kinks, and where
it has many this grows until nothing is smoothed. Hyperparameters by marginal likelihood; leave-one-out predictions in
closed form (equations 5.10 to 5.12).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from strata.analyse.series.longrun import Floats

Bools = NDArray[np.bool_]

START = np.log(np.array([0.1, 2.0, 2.0, 1.5, 0.01]))
"""log of: smooth deviation, reach in doublings of depth, of size, distance of patterns, each cell's own deviation."""
LOW = np.log(np.array([1e-3, 0.3, 0.3, 0.2, 1e-4]))
HIGH = np.log(np.array([1.5, 16.0, 16.0, 20.0, 0.5]))


@dataclass(frozen=True)
class Smooth:
    """At every cell: mean and variance given all cells, and given all others (``loo_…``); ``theta`` of the kernel."""

    mean: Floats
    variance: Floats
    loo_mean: Floats
    loo_variance: Floats
    theta: Floats


def smooth(
    where: Floats, pattern: NDArray[np.int64], level: Floats, noise: Floats, used: Bools, theta: Floats | None = None
) -> Smooth:
    """``where`` (cells × 2): log2 of depth and size; ``level`` what is left of the form, with variance ``noise``.

    Only cells in ``used`` inform the others; what is said of the rest comes from them alone. With ``theta`` the
    hyperparameters are taken as they are.
    """
    from scipy.linalg import cho_factor, cho_solve

    chosen = fit(where[used], pattern[used], level[used], noise[used]) if theta is None else theta
    signal = kernel(where, pattern, chosen)
    own = float(np.exp(2 * chosen[4]))
    inside = signal[np.ix_(used, used)]
    factor = cho_factor(inside + np.diag(noise[used] + own + 1e-10), lower=True)
    inverse = cho_solve(factor, np.eye(inside.shape[0]))
    weights = inverse @ level[used]
    across = signal[:, used]
    mean: Floats = across @ weights
    left = np.maximum(np.diag(signal) - np.sum((across @ inverse) * across, axis=1), 1e-12)
    loo_mean, loo_variance = mean.copy(), left + own
    # Of the cells that take part: the deviation of its own is signal too.
    diagonal = np.diag(inverse)
    places = np.flatnonzero(used)
    loo_mean[places] = level[used] - weights / diagonal
    loo_variance[places] = np.maximum(1 / diagonal - noise[used], 1e-12)
    final_mean, final_variance = loo_mean.copy(), loo_variance.copy()
    gain = loo_variance[places] / (loo_variance[places] + noise[used])
    final_mean[places] = loo_mean[places] + gain * (level[used] - loo_mean[places])
    final_variance[places] = loo_variance[places] * (1 - gain)
    return Smooth(final_mean, final_variance, loo_mean, loo_variance, chosen)


def kernel(where: Floats, pattern: NDArray[np.int64], theta: Floats) -> Floats:
    """Covariance of the smooth deviation between all cells."""
    scale, depth, size, apart = np.exp(theta[:4])
    square = ((where[:, None, 0] - where[None, :, 0]) / depth) ** 2
    square = square + ((where[:, None, 1] - where[None, :, 1]) / size) ** 2
    square = square + (pattern[:, None] != pattern[None, :]) * apart**2
    far = np.sqrt(3 * square)
    found: Floats = scale**2 * (1 + far) * np.exp(-far)
    return found


def fit(where: Floats, pattern: NDArray[np.int64], level: Floats, noise: Floats) -> Floats:
    """Hyperparameters of the greatest marginal likelihood, held by wide log-normal priors at `START`."""
    from scipy.optimize import minimize

    found = minimize(
        _cost, START, args=(where, pattern, level, noise), jac=True, method="L-BFGS-B",
        bounds=list(zip(LOW, HIGH, strict=True)), options={"maxiter": 40},
    )  # fmt: skip
    theta: Floats = np.asarray(found.x, dtype=float)
    return theta


def _cost(
    theta: Floats, where: Floats, pattern: NDArray[np.int64], level: Floats, noise: Floats
) -> tuple[float, Floats]:
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    n = level.size
    scale, depth, size, apart, own = np.exp(theta)
    parts = (
        ((where[:, None, 0] - where[None, :, 0]) / depth) ** 2,
        ((where[:, None, 1] - where[None, :, 1]) / size) ** 2,
        (pattern[:, None] != pattern[None, :]) * apart**2,
    )
    far = np.sqrt(3 * (parts[0] + parts[1] + parts[2]))
    decay = scale**2 * np.exp(-far)
    smooth_part = decay * (1 + far)
    try:
        factor = cho_factor(smooth_part + np.diag(noise + own**2 + 1e-10), lower=True)
    except LinAlgError:
        return 1e10, np.zeros(5)
    weights = cho_solve(factor, level)
    cost = 0.5 * float(level @ weights) + float(np.log(np.diag(factor[0])).sum()) + 0.5 * n * float(np.log(2 * np.pi))
    inverse = cho_solve(factor, np.eye(n))
    middle = inverse - np.outer(weights, weights)
    # d k / d log ℓ = 3 s² (Δ/ℓ)² exp(−√3 r), for the distance of patterns with the other sign.
    changes = (2 * smooth_part, 3 * decay * parts[0], 3 * decay * parts[1], -3 * decay * parts[2])
    gradient = np.array([0.5 * float(np.sum(middle * c)) for c in changes] + [float(np.trace(middle)) * own**2])
    held = (theta - START) / np.array([2.0, 1.0, 1.0, 1.5, 1.5])
    return cost + 0.5 * float(held @ held), gradient + held / np.array([2.0, 1.0, 1.0, 1.5, 1.5])
