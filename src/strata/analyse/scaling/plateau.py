"""A rate that follows its load until a limit and then stays there: X(N) = ((N·x₁)^−p + C^−p)^(−1/p).

The asymptotic bounds of a closed network are min(N·x₁, C); p says how sharply it turns from one into the other. A cap
(a budget of I/Os, a paced wire) turns at once, which the universal scalability law cannot draw: its turn is as wide as
its contention is large. p = 1 is one queue with a think time, nearly; from p = 30 on the two lines meet in a corner.

Source: Denning and Buzen, The operational analysis of queueing network models, ACM Computing Surveys 10 (1978), for the
bounds; the blend of both is the p-norm.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from strata.analyse.scaling.least import LawCurve, least_each
from strata.analyse.series.longrun import Floats

SHARPEST = 30.0


@dataclass(frozen=True)
class Plateau(LawCurve):
    """``alone`` x₁, the rate of a load of 1 that meets no limit; ``limit`` C; ``sharpness`` p."""

    alone: float
    limit: float
    sharpness: float

    def rates(self, loads: Floats) -> Floats:
        """X(N)."""
        part = np.log(loads * self.alone / self.limit) * self.sharpness
        # (1 + e^−part)^(−1/p), which neither overflows nor loses what is small.
        return np.asarray(self.limit * np.exp(-np.logaddexp(0.0, -part) / self.sharpness))

    @property
    def most_at(self) -> float | None:
        """None: it stays at the limit."""
        return None

    @property
    def most(self) -> float | None:
        """X_max."""
        return self.limit

    @property
    def first(self) -> float:
        """The rate of a load of 1 without the limit."""
        return self.alone

    @property
    def half_is_time_at(self) -> float | None:
        """The corner of the two bounds, however sharp it is."""
        return self.limit / self.alone

    def doubling_gains_at(self, share: float) -> float | None:
        """Where 2ᵖ (1 + u) = (1 + share)ᵖ (1 + 2ᵖ u), u being (N·x₁ ÷ C)ᵖ."""
        # As shares of 2^p, which may be large.
        kept = ((1 + share) / 2) ** self.sharpness
        over = (1 + share) ** self.sharpness - 1
        return None if over <= 0 else self.limit / self.alone * ((1 - kept) / over) ** (1 / self.sharpness)


def fit_plateau(
    loads: Sequence[float] | Floats,
    rates: Sequence[float] | Floats,
    errors: Sequence[float] | Floats | None = None,
) -> Plateau:
    """The best parameters; ``errors`` as in `fit_usl`."""
    n, x = np.asarray(loads, dtype=float), np.asarray(rates, dtype=float)
    high = float(np.max(x))
    off = np.asarray(errors, dtype=float) if errors is not None else np.full(n.shape, high)
    starts = [Plateau(float(np.max(x / n)), high, sharp) for sharp in (1.5, 6.0, 20.0)]
    found, left = fit_plateau_each(n, x, off, starts)
    return found[int(np.argmin(left))]


def fit_plateau_each(n: Floats, rates: Floats, errors: Floats, near: Sequence[Plateau]) -> tuple[list[Plateau], Floats]:
    """Of many series at the same loads, as `fit_usl_each`."""
    rates, errors = (np.broadcast_to(each, (len(near), len(n))) for each in (rates, errors))
    units = np.column_stack([np.max(rates / n, axis=1), np.max(rates, axis=1), np.ones(len(rates))])

    def model(p: Floats) -> tuple[Floats, Floats]:
        alone, limit, sharpness = ((units * np.exp(p))[:, i, None] for i in range(3))
        part = np.log(n * alone / limit) * sharpness
        bent = np.logaddexp(0.0, -part)
        x = limit * np.exp(-bent / sharpness)
        # By what share the rate follows the load; with the rest it follows the limit.
        follows = np.exp(-np.logaddexp(0.0, part))
        slope = np.stack([follows, 1 - follows, (bent + follows * part) / sharpness], axis=-1)
        return (x - rates) / errors, slope * (x / errors)[:, :, None]

    starts = np.array([(c.alone, c.limit, c.sharpness) for c in near])
    bounds = (-3.0, -1.0, math.log(0.5)), (3.0, 5.0, math.log(SHARPEST))
    found, left = least_each(model, np.log(starts / units), bounds)
    return [Plateau(*p) for p in (units * np.exp(found)).tolist()], left
