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

HALF = 0.5
STEPS = 400


def knee(curve: Curve, low: float, high: float) -> float | None:
    """The least load in ``low..high`` where half of the added load becomes time; None where it is not reached.

    ``low`` itself where it is past that already.
    """
    return _falls(curve.elasticity, HALF, low, high)


def worth_doubling(curve: Curve, share: float, low: float, high: float) -> float | None:
    """The load at which twice of it gains ``share``; None where every doubling up to ``high`` gains more."""
    return _falls(curve.doubling, share, low, high)


def _falls(of: Callable[[float], float], to: float, low: float, high: float) -> float | None:
    """The least load at which a quantity has fallen to ``to``."""
    if of(low) <= to:
        return low
    grid = np.geomspace(low, high, STEPS)
    below = next((i for i, n in enumerate(grid) if of(float(n)) <= to), None)
    if below is None:
        return None
    left, right = float(grid[below - 1]), float(grid[below])
    for _ in range(30):
        middle = (left + right) / 2
        left, right = (left, middle) if of(middle) <= to else (middle, right)
    return (left + right) / 2
