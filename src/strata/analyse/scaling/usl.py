"""The universal scalability law: X(N) = γN ÷ (1 + α(N − 1) + βN(N − 1)).

α is the share of the work that is done one at a time (contention), β what each pair of workers costs (crosstalk), γ the
rate of one alone. With β > 0 the rate has a maximum at N* = √((1 − α) ÷ β) and falls beyond it; with β = 0 it goes
towards γ ÷ α.

Least squares over all three, within 0 ≤ α ≤ 1 and β ≥ 0; each residual in units of what its
point may be off. Without such units every point counts alike, as in R's package ``usl``, which is the reference of the
tests.

Source: Gunther, Guerrilla Capacity Planning (Springer, 2007), chapter 4.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from strata.analyse.scaling.least import LawCurve, least_each
from strata.analyse.series.longrun import Floats

NO_CROSSTALK = 1e-12
"""β below which nothing of it can be told: its maximum would lie at a million of whatever the load is."""


@dataclass(frozen=True)
class Usl(LawCurve):
    """``contention`` α, ``crosstalk`` β, ``alone`` γ: the rate at a load of 1."""

    contention: float
    crosstalk: float
    alone: float

    def rates(self, loads: Floats) -> Floats:
        """X(N)."""
        return np.asarray(
            self.alone * loads / (1 + self.contention * (loads - 1) + self.crosstalk * loads * (loads - 1))
        )

    @property
    def most_at(self) -> float | None:
        """N*, the load of the maximum; None where there is none at a load of 1 or more."""
        if self.crosstalk <= NO_CROSSTALK or self.contention >= 1:
            return None
        at = math.sqrt((1 - self.contention) / self.crosstalk)
        return at if at >= 1 else None

    @property
    def most(self) -> float | None:
        """X_max: at N*, or what the curve goes towards; None where nothing bounds it."""
        if self.most_at is not None:
            return self.rate(self.most_at)
        return self.alone / self.contention if self.contention > 0 else None

    @property
    def first(self) -> float:
        """The rate of a load of 1."""
        return self.alone

    @property
    def half_is_time_at(self) -> float | None:
        """Where 2(1 − α − βN²) is what the rate is divided by."""
        contention, crosstalk = self.contention, self.crosstalk
        return _falls_to_zero(3 * crosstalk, contention - crosstalk, contention - 1)

    def doubling_gains_at(self, share: float) -> float | None:
        """Where 2 D(N) = (1 + share) D(2N), D being what the rate is divided by."""
        contention, crosstalk, times = self.contention, self.crosstalk, 1 + share
        return _falls_to_zero(
            crosstalk * (4 * times - 2), 2 * (contention - crosstalk) * (times - 1), (times - 2) * (1 - contention)
        )


def fit_usl(
    loads: Sequence[float] | Floats,
    rates: Sequence[float] | Floats,
    errors: Sequence[float] | Floats | None = None,
) -> Usl:
    """The best parameters. ``errors``: what each rate may be off, in its own unit; None: all the same."""
    n, x = np.asarray(loads, dtype=float), np.asarray(rates, dtype=float)
    off = np.asarray(errors, dtype=float) if errors is not None else np.full(n.shape, float(np.max(x)))
    steepest = float(np.max(x / n))
    starts = [Usl(a, b, steepest) for a in (0.01, 0.3) for b in (0.1 / float(n.max()) ** 2, 1e-6)]
    found, left = fit_usl_each(n, x, off, starts)
    return found[int(np.argmin(left))]


def fit_usl_each(n: Floats, rates: Floats, errors: Floats, near: Sequence[Usl]) -> tuple[list[Usl], Floats]:
    """Of many series at the same loads (series × points, or one), each from its own start, and the sums of squares
    that are left."""
    rates, errors = (np.broadcast_to(each, (len(near), len(n))) for each in (rates, errors))
    units = np.ones((len(near), 3))
    units[:, 2] = np.max(rates / n, axis=1)

    def model(p: Floats) -> tuple[Floats, Floats]:
        contention, crosstalk, alone = (p[:, i, None] for i in range(3))
        one = units[:, 2:] * n / (1 + contention * (n - 1) + crosstalk * n * (n - 1))
        by_contention = -alone * one**2 * (n - 1) / (units[:, 2:] * n)
        slope = np.stack([by_contention, by_contention * n, one], axis=-1)
        return (alone * one - rates) / errors, slope / errors[:, :, None]

    starts = np.array([(c.contention, c.crosstalk, c.alone) for c in near])
    found, left = least_each(model, starts / units, ((0.0, 0.0, 1e-9), (1.0, math.inf, math.inf)))
    return [Usl(*p) for p in (found * units).tolist()], left


def _falls_to_zero(second: float, first: float, none: float) -> float | None:
    """The greatest N with second·N² + first·N + none = 0, where that grows with N from there on: 0 where it is beyond 0
    at once, None where it never is."""
    if none >= 0:
        return 0.0
    # Not the usual form: it loses everything where the crosstalk is faint.
    below = first + math.sqrt(first**2 - 4 * second * none)
    return -2 * none / below if below > 0 else None
