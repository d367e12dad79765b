"""Unsteady intervals.

What it claims
    The intervals of one measurement differ no more than intervals do elsewhere on this machine, and do not drift.
Why it matters
    While a cache fills, a tier changes or a neighbour is active, the average is not a state of the storage.
Evidence
    The last third of the intervals compared with the first, over the rounds; a drop by half is always reported. Else
    the coefficient of variation, if it exceeds three times the typical one (and 30 %).
What rules it out
    Fewer than four intervals.
Source
    SNIA Solid State Storage Performance Test Specification (steady state by range and slope).
"""

from __future__ import annotations

import math

import numpy as np

from strata import units
from strata.analyse.laws.base import Answers, RunView, caveat
from strata.analyse.noise import interval_rates
from strata.analyse.rounds import CellRounds
from strata.model.analysis import UNSTEADY, NoiseFloor

NAME, TITLE, ORDER = UNSTEADY, "unsteady", 80
SAYS = "the rate drifts, drops or varies within a measurement"
NEXT = "Measure longer, with nothing else running, and look at the rate over time."
BURST = 100.0
"""From a hundredfold rise on the first third held nothing, or a stall, and a factor would say nothing."""


def of_run(run: RunView) -> Answers:
    for cell in run.cells:
        message = _unsteady(run.of(cell), run.noise)
        if message is not None:
            yield caveat(message, cell.layer, cell.workload.key)


def _unsteady(cell: CellRounds, noise: NoiseFloor) -> str | None:
    series = [interval_rates(r.result.intervals) for r in cell.results if r.result is not None]
    series = [s for s in series if len(s) >= 4 and min(s) >= 0 and sum(s) > 0]
    if not series:
        return None
    thirds = [(float(np.mean(s[: len(s) // 3 or 1])), float(np.mean(s[-(len(s) // 3 or 1) :]))) for s in series]
    logs = [math.log(max(b, 1e-9) / max(a, 1e-9)) for a, b in thirds]
    typical = max(noise.within_bins, 0.02)
    shift = float(np.median(logs))
    if abs(shift) > min(max(0.2, 3 * typical), math.log(2)):
        word = "fell" if shift < 0 else "rose"
        cliff = shift < math.log(0.5)
        share = math.exp(shift)
        change = f"{word} to {units.percent(share, 2)}" if share < BURST else "rose from next to nothing"
        message = f"IOPS {change} from the first to the last third of a measurement"
        return message + (": a cliff, as when a cache is full; measure longer" if cliff else "; measure longer")
    spread = float(np.median([np.std(s, ddof=1) / np.mean(s) for s in series]))
    if spread <= max(0.3, 3 * typical):
        return None
    return (
        f"intervals vary by {units.percent(spread, 2)} (standard deviation), elsewhere by {units.percent(typical, 2)}"
    )
