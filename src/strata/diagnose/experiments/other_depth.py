"""Another depth.

What it changes
    Twice as many requests are outstanding, or half as many, in a workload that the most likely cause explains.
What it tells apart
    Where something is saturated, the IOPS stay the same. Where each request takes a fixed time, the IOPS follow the
    depth as far as the layer below can.
"""

from __future__ import annotations

from collections.abc import Iterator

from strata.diagnose.case import Case
from strata.diagnose.opinion import Opinion
from strata.diagnose.variants import MOST_DEPTH, WORDS, Variant, best, explained, reshape
from strata.model.experiment import Experiment
from strata.model.workload import ClosedLoop

SIDES = ("full", "wait")

FACTORS = (2.0, 0.5)


def propose(case: Case, standing: tuple[Opinion, ...]) -> Experiment | None:
    """The cell and the depth in which the standing causes differ most."""
    return best(case, standing, _variants(case, standing[0])) if standing else None


def _variants(case: Case, favourite: Opinion) -> Iterator[Variant]:
    for cell, pair, point in explained(case, favourite):
        arrival = cell.workload.arrival
        for factor in FACTORS if isinstance(arrival, ClosedLoop) else ():
            depth = arrival.iodepth * factor
            if depth == int(depth) >= 1 and cell.workload.outstanding * factor <= MOST_DEPTH:
                yield Variant(cell, reshape(cell.workload, depth=factor), f"{WORDS[factor]} the depth", pair, point)
