"""Whether a piece of a series is steady: the range and slope criterion of SNIA's PTS on five windows.

Source: SNIA Solid State Storage Performance Test Specification 2.0.2 (2020), "Steady State": over five rounds, max −
min within 20 % of the mean and the fitted line's rise or fall within 10 %. Its rounds last a minute; here the piece is
cut in five. A window this short also moves by noise alone, so each bound is widened by what the piece's own long-run
variance explains (three standard errors).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from strata.analyse.series.longrun import Floats, long_run

WINDOWS = 5
RANGE_MAX = 0.20
SLOPE_MAX = 0.10
CRITERION = "range 20 % and slope 10 % over five windows (SNIA PTS)"


@dataclass(frozen=True)
class Steady:
    """``spread`` (max − min of the windows) and ``slope`` (the fitted line's rise over them) as shares of the mean."""

    spread: float
    slope: float
    steady: bool


def steadiness(values: Floats) -> Steady | None:
    """None for fewer than two bins a window, or where nothing happened."""
    length = values.size // WINDOWS
    if length < 2 or (mean := float(values.mean())) <= 0:
        return None
    windows = values[values.size - WINDOWS * length :].reshape(WINDOWS, length).mean(axis=1)
    at = np.arange(WINDOWS) - (WINDOWS - 1) / 2
    slope = float(at @ windows) / float(at @ at) * (WINDOWS - 1) / mean
    spread = float(windows.max() - windows.min()) / mean
    found = long_run(values)
    one = 0.0 if found is None else found.error * math.sqrt(WINDOWS) / mean
    # The range of five is 2.3 standard deviations wide, the fitted rise has 1.26 of them.
    steady = spread <= RANGE_MAX + 3 * one and abs(slope) <= SLOPE_MAX + 2.5 * one
    return Steady(spread=spread, slope=slope, steady=steady)
