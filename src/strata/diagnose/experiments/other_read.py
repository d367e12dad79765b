"""Another read of the same layer.

What it changes
    The block size or the depth of a small read at the lowest layer, or a large block with one request outstanding.
What it tells apart
    A queue that serves k at once (larger blocks take longer in it), a cap on requests (the same IOPS), a cap on bytes
    (the same bytes per second; a single large block is fast) and a slow medium (a single one is slower, too). The read
    is the one for which the remaining causes predict the most different IOPS.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from strata import units
from strata.diagnose import own_limits
from strata.diagnose.case import Case
from strata.diagnose.opinion import Opinion
from strata.diagnose.own_limits import GroundLayer, Range
from strata.diagnose.predict import slack
from strata.diagnose.variants import MOST_BLOCK, reshape
from strata.model.analysis import CellSummary
from strata.model.cause import Cause
from strata.model.experiment import Experiment, Metric, Prediction
from strata.model.workload import Workload

ABOUT = frozenset({Cause.SLOW_MEDIUM, Cause.LIMITED_QUEUE, Cause.IOPS_CAP, Cause.BANDWIDTH_CAP})
BLOCKS, DEPTHS = (4.0, 16.0, 64.0), (0.25, 4.0)


def propose(case: Case, standing: tuple[Opinion, ...]) -> Experiment | None:
    """Where one of the family stands at a layer of which something is promised.

    Of those that the figures refuted already the next best predicts too: an experiment that it would have passed as
    well tells nothing.
    """
    mine = [o for o in standing if o.cause in ABOUT]
    own = own_limits.of(case, mine[0].layer) if mine else None
    if own is None:
        return None
    causes = [o.cause for o in mine]
    causes += [one.cause for one in own.limits if one.cause not in causes][: max(0, 2 - len(causes))]
    wide = slack(case.analysis.noise.tolerance)
    found = []
    for cell, workload, changes in _variants(own):
        predicted = [own_limits.other(case, own.station.layer.name, cause, workload) for cause in causes]
        if predicted[0] is None or any(p is None for p in predicted):
            continue
        known = [p for p in predicted if p is not None]
        found.append((min(_apart(known[0], p) for p in known[1:]), cell, workload, changes, known))
    best = max(found, key=lambda one: one[0], default=None)
    if best is None or best[0] <= 2 * wide:
        return None
    _, cell, workload, changes, known = best
    told = tuple(
        _prediction(c, own, p, wide, n >= len(mine)) for n, (c, p) in enumerate(zip(causes, known, strict=True))
    )
    return Experiment(
        layer=own.station.layer.name,
        workload=workload,
        reference=cell.workload.key,
        changes=changes,
        prediction=told[0],
        predictions=told,
        otherwise=f"{causes[1].words} predicts {units.count(math.sqrt(known[1][0] * known[1][1]))} IOPS",
    )


def _variants(own: GroundLayer) -> Iterator[tuple[CellSummary, Workload, str]]:
    for held in own.cells:
        w = held.cell.workload
        for factor in BLOCKS if held.depth > 1 else ():
            if w.bs * factor <= MOST_BLOCK and w.rw.random:
                made = reshape(w, blocks=factor)
                yield held.cell, made, f"blocks of {units.size(made.bs)} at the same depth"
        for factor in DEPTHS if held.depth >= 4 else ():
            made = reshape(w, depth=factor)
            yield held.cell, made, f"{made.outstanding} outstanding with the same block size"
        if not w.rw.random and held.depth > 1:
            yield held.cell, reshape(w, depth=1 / held.depth), f"one outstanding of {units.size(w.bs)}"


def _apart(one: Range, other: Range) -> float:
    """The gap between two ranges, on logs; below 0 where they overlap."""
    return max(math.log(one[0] / other[1]), math.log(other[0] / one[1]))


def _prediction(cause: Cause, own: GroundLayer, found: Range, wide: float, rival: bool) -> Prediction:
    return Prediction(
        metric=Metric.IOPS,
        low=found[0] * math.exp(-wide),
        high=found[1] * math.exp(wide),
        unit="IOPS",
        cause=cause.value,
        layer=own.station.layer.name,
        rival=rival,
    )
