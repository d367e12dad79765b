"""Times of single requests, from the distribution of a cell as it is kept: on more or fewer percentiles."""

from __future__ import annotations

import math

import numpy as np

from strata.model.analysis import CellSummary


def at(cell: CellSummary, percentile: float) -> float | None:
    """The time at that percentile in ns, between the two that are kept; None without a distribution that reaches it."""
    known = [(p, math.log(ns)) for p, ns in cell.curve if ns > 0]
    if not known or not known[0][0] <= percentile <= known[-1][0]:
        return None
    return math.exp(float(np.interp(percentile, [p for p, _ in known], [ns for _, ns in known])))
