"""What both curves share: what can be asked of a curve, and the least squares that fit one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

import numpy as np

from strata.analyse.series.longrun import Floats

Bounds = tuple[tuple[float, ...], tuple[float, ...]]


class Curve(ABC):
    """A rate over the load."""

    @abstractmethod
    def rates(self, loads: Floats) -> Floats:
        """At each of these loads."""

    @property
    @abstractmethod
    def most(self) -> float | None:
        """X_max; None where nothing bounds the rate."""

    @property
    @abstractmethod
    def most_at(self) -> float | None:
        """The load of the maximum; None where it is only approached."""

    @property
    @abstractmethod
    def first(self) -> float:
        """The rate of a load of 1 that waits for nothing."""

    def rate(self, load: float) -> float:
        """At one load."""
        return float(self.rates(np.array([load]))[0])

    def elasticity(self, loads: Floats) -> Floats:
        """The share of one more percent of load that becomes rate (d ln X ÷ d ln N); the rest becomes time."""
        step = 1e-4
        more, less = self.rates(loads * (1 + step)), self.rates(loads / (1 + step))
        return np.asarray(np.log(more / less) / (2 * np.log1p(step)))

    def doubling(self, loads: Floats) -> Floats:
        """What twice the load gains, as a share: 1 for twice the rate."""
        return np.asarray(self.rates(2 * loads) / self.rates(loads) - 1)


def least(residuals: Callable[[Floats], Floats], starts: Sequence[Sequence[float]], bounds: Bounds) -> Floats:
    """The parameters of the least sum of squares from any of the starts."""
    # Here: scipy's optimisation takes longer to load than most commands run.
    from scipy.optimize import least_squares

    low, high = np.asarray(bounds[0]), np.asarray(bounds[1])
    found = [
        least_squares(
            residuals, np.clip(start, low, high), bounds=(low, high), x_scale="jac", xtol=1e-12, ftol=1e-12, gtol=1e-12
        )
        for start in starts
    ]
    best: Floats = min(found, key=lambda one: float(one.cost)).x
    return best
