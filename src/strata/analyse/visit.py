"""One start of one cell, as the numbers that a matrix is made of."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from strata.analyse.series.bins import bins_of
from strata.analyse.series.longrun import Floats
from strata.analyse.series.regimes import cut
from strata.model.result import Interval

FEWEST = 4
"""Bins below which a visit says nothing of its noise."""


@dataclass(frozen=True)
class Visit:
    """``cell`` is the index in the matrix; ``rates`` are IOPS of bins of ``bin_s`` seconds, the ramp left out."""

    cell: int
    rates: Floats
    bin_s: float

    @cached_property
    def products(self) -> Floats:
        """Sums of the products of residuals at each lag, in shares of the mean square at lag 0."""
        r = self.residuals
        found: Floats = np.correlate(r, r, "full")[r.size - 1 :]
        return found / max(float(found[0]) / r.size, 1e-30)

    @property
    def seconds(self) -> float:
        """Measured and used."""
        return float(self.rates.size) * self.bin_s

    @property
    def level(self) -> float:
        """Logarithm of the mean IOPS."""
        return math.log(float(self.rates.mean()))

    @property
    def residuals(self) -> Floats:
        """Bins relative to their mean, less one."""
        found: Floats = self.rates / float(self.rates.mean()) - 1
        return found


def visit_of(cell: int, intervals: Sequence[Interval]) -> Visit | None:
    """Of the intervals of one measurement; None where they are too few or nothing was done in them."""
    bins = bins_of(intervals)
    return visit_from(cell, bins.iops, bins.seconds) if bins.size else None


def visit_from(cell: int, rates: Floats, bin_s: float) -> Visit | None:
    """Of bins as they came, ramp and all: what is kept is the regime in which they end."""
    start, end = cut(rates, bin_s).pieces[-1]
    kept = np.asarray(rates[start:end], dtype=float)
    if kept.size < FEWEST or not float(kept.mean()) > 0:
        return None
    return Visit(cell=cell, rates=kept, bin_s=bin_s)
