"""The same workload once more, beside the layer below.

What it changes
    Nothing: a workload that is slow for no known cause is measured again, in turns with the layer below it.
What it tells apart
    A loss that lasts predicts that the layer stays slower than it may be. If other programs took the time of one
    workload, or its rate goes up and down, it gives as much as the layer below, and nothing is said of it. It names
    no cause.
"""

from __future__ import annotations

from strata.diagnose.case import Case
from strata.diagnose.causes import unexplained
from strata.diagnose.expected import FALLS, asked, told
from strata.diagnose.opinion import Opinion
from strata.diagnose.slight import surely_slow
from strata.model.cause import Cause
from strata.model.experiment import Experiment

ABOUT = frozenset({Cause.UNEXPLAINED})
MOST_ROWS = 2
"""Workloads that are slow: of more at once it is no chance."""


def propose(case: Case, standing: tuple[Opinion, ...]) -> Experiment | None:
    """Where nothing explains the loss of one workload, or two: the worst that was not measured again yet."""
    for opinion in (o for o in standing if o.cause in ABOUT and len(o.cells) <= MOST_ROWS):
        for pair in (p for p in case.pairs if p.view.layer.name == opinion.layer):
            again = unexplained.measured_again(pair)
            for point in pair.view.affected:
                if point.key in opinion.cells - again.keys() and surely_slow(point.comparison):
                    below = pair.view.below.name
                    return asked(
                        point.lower,
                        f"the same workload once more, beside {below}",
                        told((opinion,), {Cause.UNEXPLAINED: (FALLS, point.comparison.line)}),
                        layer=opinion.layer,
                        reference_layer=below,
                        otherwise=f"by chance it gives as much as {below}",
                    )
    return None
