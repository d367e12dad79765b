"""Where more load stops to be worth it: two points of a curve, and what each means.

* **The knee**: from here on more than half of each added percent of load becomes waiting time, and less than half
  becomes rate. It is the load of the greatest power X ÷ R (Kleinrock 1979). Where the curve is the two asymptotic
  bounds min(N·x₁, C), it is their corner N* = C ÷ x₁, which is C · R₀.
* **Worth doubling up to**: the largest load at which twice of it still gains a stated share of the rate.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from strata.analyse.scaling.least import Curve
from strata.analyse.series.longrun import Floats

HALF = 0.5
STEPS = 400, 64, 64
"""Of the reach, of the step in which it falls, and of that one's."""
_EVENLY = tuple(np.linspace(0.0, 1.0, steps) for steps in STEPS)


def knee(curve: Curve, low: float, high: float) -> float | None:
    """The least load in ``low..high`` where half of the added load becomes time; None where it is not reached.

    ``low`` itself where it is past that already.
    """
    return _falls(curve.elasticity, HALF, low, high)


def worth_doubling(curve: Curve, share: float, low: float, high: float) -> float | None:
    """The load at which twice of it gains ``share``; None where every doubling up to ``high`` gains more."""
    return _falls(curve.doubling, share, low, high)


def _falls(of: Callable[[Floats], Floats], to: float, low: float, high: float) -> float | None:
    """The least load at which a quantity has fallen to ``to``, to a millionth of the reach."""
    for evenly in _EVENLY:
        grid = low * (high / low) ** evenly
        below = np.flatnonzero(of(grid) <= to)
        if not below.size:
            return None
        if not (first := int(below[0])):
            return low
        low, high = float(grid[first - 1]), float(grid[first])
    return (low + high) / 2
