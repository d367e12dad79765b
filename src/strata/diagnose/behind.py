"""Two causes in the same rows: what is left of the losses behind the one that was named first.

The layer below is given what the first cause makes of it, and everything is asked again. Where that explains a row,
the ratio is 1, and the row still tells what no other limit may take away.
"""

from __future__ import annotations

import math
from dataclasses import replace

from strata.analyse.compare import equivalence
from strata.diagnose import predict
from strata.diagnose.case import Pair
from strata.diagnose.models import fit_all
from strata.diagnose.opinion import Opinion
from strata.diagnose.view import Point


def behind(pair: Pair, first: Opinion) -> Pair:
    """The same rows over what ``first`` leaves of the layer below, as near to what was measured as it predicts."""
    known = {row.cell: (row.low, row.high) for row in first.rows}
    points = []
    for point in pair.view.points:
        span = known.get(pair.view.cell(point))
        if span is None and first.model is not None:
            span = predict.iops(pair, first.model, point, point.workload)
        points.append(point if span is None else _over(point, min(max(point.x, span[0]), span[1])))
    by_key = {p.key: p for p in points}
    everything = tuple(by_key.get(p.key, p) for p in pair.view.everything)
    view = replace(pair.view, points=tuple(points), everything=everything)
    return Pair(pair.case, view, fit_all(view), pair)


def _over(point: Point, below: float) -> Point:
    """The row over a layer that gives ``below`` IOPS."""
    below = min(below, point.x_below)
    factor, one = point.x_below / below, point.comparison
    ends = {
        "value": one.iops.value * factor,
        "low": None if one.iops.low is None else one.iops.low * factor,
        "high": None if one.iops.high is None else one.iops.high * factor,
    }
    ratio = one.iops.model_copy(update=ends)
    iops = point.lower.iops.model_copy(update={"value": below, "low": None, "high": None})
    return replace(
        point,
        comparison=one.model_copy(update={"iops": ratio, "verdict": equivalence(ratio, one.expected_overhead)}),
        lower=point.lower.model_copy(update={"iops": iops}),
        ratio_log=point.ratio_log + math.log(factor),
    )
