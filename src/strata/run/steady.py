"""When is a write rate steady? A pure function of the rates of the rounds.

Source: SNIA Solid State Storage Performance Test Specification 2.0.2 (2020), "Steady State" and "Measurement Window":
over a window of five rounds, max − min is at most 20 % of the average, and the best-fit line's own max − min is at most
10 % of it. Its rounds last a minute; shorter ones (as here) see less. What it cannot tell: a plateau inside a write
cache is steady too. Only more bytes than the cache holds end that, so the bytes written are kept with the answer.
"""

from __future__ import annotations

from collections.abc import Sequence

from strata.model.precondition import Steadiness

WINDOW = 5
SPREAD_MAX = 0.20
SLOPE_MAX = 0.10


def steadiness(rates: Sequence[float]) -> Steadiness | None:
    """Of the last `WINDOW` rates (any unit); None while there are fewer, or where nothing was written."""
    window = rates[-WINDOW:]
    if len(window) < WINDOW or (mean := sum(window) / WINDOW) <= 0:
        return None
    middle = (WINDOW - 1) / 2
    # Least squares on 0..4; the line's excursion over the window is its slope times four.
    rise = sum((x - middle) * (y - mean) for x, y in enumerate(window))
    slope = rise / sum((x - middle) ** 2 for x in range(WINDOW)) * (WINDOW - 1) / mean
    spread = (max(window) - min(window)) / mean
    return Steadiness(spread=spread, slope=slope, steady=spread <= SPREAD_MAX and abs(slope) <= SLOPE_MAX)
