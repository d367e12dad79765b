"""A curve through the points that were measured, where a fitted one lies beside them.

Between two points the fitted curve is bent as far as both lie off it. How much of that is the layer's own and how much
chance is told by their sizes: what the points lie off more than they may be off themselves is the layer's (each
point's deviation is shrunk by L² ÷ (L² + e²), L² being that lack of fit, e what the point itself may be off).

It says nothing of what lies beyond the last point: the fitted curve goes on there, as far off as it was.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from strata.analyse.scaling.least import Curve
from strata.analyse.series.longrun import Floats

TINY = 1e-12


@dataclass(frozen=True)
class Traced(Curve):
    """``base`` is the fitted curve; ``off`` how far it is bent at each of ``loads``, as logarithms."""

    base: Curve
    loads: tuple[float, ...]
    off: tuple[float, ...]

    @classmethod
    def through(cls, base: Curve, loads: Floats, rates: Floats, errors: Floats) -> Traced:
        """As near to the points as they are sure; ``errors`` as shares."""
        left = np.log(rates / base.rates(loads))
        lack2 = max(0.0, float(np.mean(left**2)) - float(np.mean(errors**2)))
        return cls(base, tuple(map(float, loads)), tuple(map(float, left * lack2 / (lack2 + errors**2 + TINY))))

    def moved(self, by: Floats) -> Traced:
        """With each point as much higher, as logarithms."""
        return Traced(self.base, self.loads, tuple(float(o + b) for o, b in zip(self.off, by, strict=True)))

    def rates(self, loads: Floats) -> Floats:
        """X(N)."""
        bent = np.interp(np.log(np.maximum(loads, TINY)), np.log(self.loads), self.off)
        return np.asarray(self.base.rates(loads) * np.exp(bent))

    @property
    def most(self) -> float | None:
        """X_max: of the points, or what the fitted curve goes towards beyond them."""
        seen = float(self.rates(np.array(self.loads)).max())
        return None if self.base.most is None else max(seen, self.base.most * math.exp(self.off[-1]))

    @property
    def most_at(self) -> float | None:
        """As the fitted curve's."""
        return self.base.most_at

    @property
    def first(self) -> float:
        """The rate of a load of 1 that waits for nothing."""
        return self.base.first * math.exp(self.off[0])
