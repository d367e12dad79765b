"""Another block size.

What it changes
    Requests of another size, with as many outstanding as before, in a workload that the most likely cause explains.
What it tells apart
    Under a limit on bytes the bytes per second stay the same, under a cap on requests the IOPS. A fixed time per
    request is the same for every size.
"""

from __future__ import annotations

from collections.abc import Iterator

from strata.diagnose.case import Case
from strata.diagnose.opinion import Opinion
from strata.diagnose.variants import LEAST_BLOCK, MOST_BLOCK, WORDS, Variant, best, explained, reshape
from strata.model.experiment import Experiment
from strata.model.workload_options import OPTIONS

SIDES = ("full", "wait")

FACTORS = (0.25, 4.0, 0.5, 2.0, 8.0)


def propose(case: Case, standing: tuple[Opinion, ...]) -> Experiment | None:
    """The cell and the size in which the standing causes differ most."""
    return best(case, standing, _variants(case, standing[0])) if standing else None


def _variants(case: Case, favourite: Opinion) -> Iterator[Variant]:
    for cell, pair, point in explained(case, favourite):
        for factor in FACTORS:
            size = cell.workload.bs * factor
            if (
                point is None
                or cell.workload.bssplit is not None
                or not LEAST_BLOCK <= size <= MOST_BLOCK
                or not OPTIONS["bs"].in_step(size)
            ):
                continue
            changed = reshape(cell.workload, blocks=factor)
            yield Variant(cell, changed, f"{WORDS[factor]} the block size at the same depth", pair, point)
