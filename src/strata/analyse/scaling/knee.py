"""Where more load stops to be worth it: two points of a curve, and what each means.

* **The knee**: from here on more than half of each added percent of load becomes waiting time, and less than half
  becomes rate. It is the load of the greatest power X ÷ R (Kleinrock 1979). Where the curve is the two asymptotic
  bounds min(N·x₁, C), it is their corner N* = C ÷ x₁, which is C · R₀.
* **Worth doubling up to**: the largest load at which twice of it still gains a stated share of the rate.

On both kinds of curve either is where a polynomial is 0, so the curves themselves say where.
"""

from __future__ import annotations

from strata.analyse.scaling.least import LawCurve


def knee(curve: LawCurve, low: float, high: float) -> float | None:
    """The least load in ``low..high`` where half of the added load becomes time; None where it is not reached.

    ``low`` itself where it is past that already.
    """
    return _within(curve.half_is_time_at, low, high)


def worth_doubling(curve: LawCurve, share: float, low: float, high: float) -> float | None:
    """The load at which twice of it gains ``share``; None where every doubling up to ``high`` gains more."""
    return _within(curve.doubling_gains_at(share), low, high)


def _within(load: float | None, low: float, high: float) -> float | None:
    return None if load is None or load > high else max(load, low)
