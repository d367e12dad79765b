"""A layer over another that stands still at times: what each gives between these times, so that a limit shows.

While one layer does nothing, the one above does nothing either, or lives on what a cache holds: the ratio of their
rates then says how many interruptions each of them met. A workload that the upper layer answers faster than the
lower one is answered by something else; of a limit it tells only that it lets so much pass.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from strata.analyse.compare import equivalence
from strata.diagnose.case import Pair
from strata.diagnose.models import fit_all
from strata.diagnose.opinion import Opinion
from strata.diagnose.paused import KINDS, episodes
from strata.diagnose.sides import CauseSide, on
from strata.diagnose.view import Point
from strata.model.analysis import CellSummary, Equivalence
from strata.model.estimate import Estimate

LEAST_LEFT = 0.05
"""Of the time: of less nothing can be worked out."""


def between_episodes(pair: Pair, own: Sequence[Opinion]) -> Pair:
    """The same where neither layer nor one below is told to have any, else with the rates between them.

    ``own``: what layers show by themselves. A workload that was not slow is not made slow by it.
    """
    below = pair.view.below
    under = {pair.view.layer.name, below.name, *(layer.name for layer in pair.case.stack.stands_on(below))}
    if not any(o.holds and o.layer in under and o.cause in on(CauseSide.EPISODES) for o in own):
        return pair
    points = {p.key: _between(p) for p in pair.view.everything}
    kept = tuple(points[p.key] for p in pair.view.points)
    view = replace(pair.view, points=kept, everything=tuple(points.values()))
    return Pair(pair.case, view, fit_all(view), pair.before)


def _between(point: Point) -> Point:
    here, there, one = _left(point.upper), _left(point.lower), point.comparison
    ratio = _times(one.iops, there / here)
    verdict = equivalence(ratio, one.expected_overhead)
    if verdict is Equivalence.ABOVE and not point.above:
        verdict = one.verdict
    x = point.x / here
    below = x if verdict is Equivalence.FASTER else point.x_below / there
    return replace(
        point,
        comparison=one.model_copy(update={"iops": ratio, "verdict": verdict}),
        upper=_at(point.upper, point.upper.iops.value / here),
        lower=_at(point.lower, below),
        ratio_log=math.log(x / below),
    )


def _left(cell: CellSummary) -> float:
    """0..1 of the time in which it did something, by its own episodes."""
    lost = [e.share * (1 - 1 / (e.factor or math.inf)) for kind in KINDS.values() if (e := episodes(cell, kind))]
    return max(LEAST_LEFT, 1 - max(lost, default=0.0))


def _at(cell: CellSummary, iops: float) -> CellSummary:
    return cell.model_copy(update={"iops": _times(cell.iops, iops / cell.iops.value)})


def _times(one: Estimate, factor: float) -> Estimate:
    ends = {name: end if end is None else end * factor for name in ("low", "high") for end in (getattr(one, name),)}
    return one.model_copy(update={"value": one.value * factor, **ends})
