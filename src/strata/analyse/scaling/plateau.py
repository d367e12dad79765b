"""A rate that follows its load until a limit and then stays there: X(N) = ((N·x₁)^−p + C^−p)^(−1/p).

The asymptotic bounds of a closed network are min(N·x₁, C); p says how sharply it turns from one into the other. A cap
(a budget of I/Os, a paced wire) turns at once, which the universal scalability law cannot draw: its turn is as wide as
its contention is large. p = 1 is one queue with a think time, nearly; from p = 30 on the two lines meet in a corner.

Source: Denning and Buzen, The operational analysis of queueing network models, ACM Computing Surveys 10 (1978), for the
bounds; the blend of both is the p-norm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from strata.analyse.scaling.least import Curve, least
from strata.analyse.series.longrun import Floats

SHARPEST = 30.0


@dataclass(frozen=True)
class Plateau(Curve):
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


def fit_plateau(
    loads: Sequence[float] | Floats,
    rates: Sequence[float] | Floats,
    errors: Sequence[float] | Floats | None = None,
    near: Plateau | None = None,
) -> Plateau:
    """The best parameters; ``errors`` and ``near`` as in `fit_usl`."""
    n, x = np.asarray(loads, dtype=float), np.asarray(rates, dtype=float)
    steep, high = float(np.max(x / n)), float(np.max(x))
    weights = 1 / (np.asarray(errors, dtype=float) if errors is not None else np.full(n.shape, high))

    def made(p: Floats) -> Plateau:
        return Plateau(steep * float(np.exp(p[0])), high * float(np.exp(p[1])), float(np.exp(p[2])))

    def residuals(p: Floats) -> Floats:
        return np.asarray((made(p).rates(n) - x) * weights)

    starts: list[tuple[float, ...]] = [(0.0, 0.0, float(np.log(sharp))) for sharp in (1.5, 6.0, 20.0)]
    if near is not None:
        starts = [tuple(float(np.log(v)) for v in (near.alone / steep, near.limit / high, near.sharpness))]
    bounds = ((-3.0, -1.0, float(np.log(0.5))), (3.0, 5.0, float(np.log(SHARPEST))))
    return made(least(residuals, starts, bounds))
