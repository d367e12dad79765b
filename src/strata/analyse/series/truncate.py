"""Where the ramp ends: MSER-5.

White (1997, "An effective truncation heuristic for bias reduction in simulation output") and White, Cobb and Spratt
(2000): bins are averaged by five, and the series is cut where the standard error of the rest, taken as if it were
independent, is least. At most half is cut.

In a correlated series without a ramp that least place is an accident, and the rest would look quieter than it is; where
a stall lies in the first half, all before it would be thrown away with it. So a ramp is only what is off from the very
first piece on, by `FAR` standard deviations of the rest, and it ends with the first piece that is not.
"""

from __future__ import annotations

import numpy as np

from strata.analyse.series.longrun import FEWEST, Floats

BY = 5
FAR = 3.0
CRITERION = "MSER-5"


def ramp_end(values: Floats) -> int:
    """How many bins at the begin belong to the ramp."""
    by = BY if values.size >= 8 * BY else 1
    whole = values.size // by
    if whole < FEWEST:
        return 0
    means = values[: whole * by].reshape(whole, by).mean(axis=1)
    least = int(np.argmin([float(np.var(means[d:])) / (whole - d) for d in range(whole // 2 + 1)]))
    rest = means[least:]
    if least == 0 or rest.size < FEWEST // 2:
        return 0
    near = np.abs(means[:least] - np.median(rest)) <= FAR * float(np.std(rest, ddof=1))
    return by * (int(np.argmax(near)) if near.any() else least)
