"""Several equal members over which the I/Os are spread at random: a disk of each storage node of a stripe.

Which member an I/O goes to does not ask which one has room: some have more than their part while others stand still. A
closed network with k equal stations, each as fast as one member is with n I/Os in it, says how much that costs; it is
more with few I/Os for each member, and more with more members. An equal part for each, k·X(N ÷ k), has none of it.

What one member gives follows from the points: it is the curve whose network of k₀ of them draws what was measured.

Source: Chandy, Herzog and Woo, Parametric analysis of queuing networks, IBM Journal of Research and Development 19
(1975); Buzen, CACM 16 (1973), for the convolution with stations whose rate follows their load.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from strata.analyse.scaling.least import Curve, least
from strata.analyse.scaling.network import DEEPEST
from strata.analyse.scaling.plateau import SHARPEST, Plateau
from strata.analyse.series.longrun import Floats


@dataclass(frozen=True)
class Members(Curve):
    """``many`` members, each of which gives ``one`` of the I/Os that are in it."""

    one: Curve
    many: int

    def rates(self, loads: Floats) -> Floats:
        """X(N), on the line between two whole numbers of I/Os."""
        n = np.minimum(loads, float(DEEPEST))
        whole = self._whole(max(1, int(np.ceil(n.max()))))
        return np.asarray(np.interp(n, np.arange(len(whole)), whole))

    def _whole(self, most: int) -> Floats:
        """Of 0, 1, … ``most`` I/Os."""
        each = np.maximum(self.one.rates(np.arange(1.0, most + 1)), 1e-12)
        # In units of the fastest rate no term leaves the range of a number: Π s ÷ μ(j) stays near what it reaches.
        scale = float(each.max())
        logs = np.concatenate([[0.0], np.cumsum(np.log(scale / each))])
        station = np.exp(logs - logs.max())
        sums = station
        for _ in range(self.many - 1):
            sums = np.convolve(sums, station)[: most + 1]
        alone = self.one.first * np.arange(1.0, most + 1)
        # Where the sums are too small for a number, no I/O meets another one.
        found = np.divide(self.many * scale * sums[:-1], sums[1:], out=alone, where=sums[:-1] > 0)
        return np.concatenate([[0.0], found])

    @property
    def most(self) -> float | None:
        """X_max."""
        return None if self.one.most is None else self.many * self.one.most

    @property
    def most_at(self) -> float | None:
        """As many of each."""
        return None if self.one.most_at is None else self.many * self.one.most_at

    @property
    def first(self) -> float:
        """One I/O meets no other in any of them."""
        return self.one.first


def members_of(loads: Sequence[float], rates: Sequence[float], many: int) -> Members:
    """``many`` members that together draw these points."""
    n, x = np.asarray(loads, dtype=float), np.asarray(rates, dtype=float)
    steep, high = float(np.max(x / n)), float(np.max(x)) / many

    def made(p: Floats) -> Members:
        return Members(Plateau(steep * float(np.exp(p[0])), high * float(np.exp(p[1])), float(np.exp(p[2]))), many)

    def residuals(p: Floats) -> Floats:
        return np.asarray(made(p).rates(n) / x - 1)

    starts = [(0.0, 0.0, float(np.log(sharp))) for sharp in (2.0, 8.0)]
    bounds = ((-1.0, -0.5, float(np.log(0.5))), (1.0, 2.0, float(np.log(SHARPEST))))
    return made(least(residuals, starts, bounds))
