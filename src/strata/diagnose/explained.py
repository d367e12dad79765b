"""Which slow rows a cause explains: what it predicts of each, beside what was measured.

A cause that puts a row lower than it was measured, by more than its interval, is contradicted by that row; slow rows
that its prediction does not reach are left for another cause.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from strata.diagnose import predict
from strata.diagnose.case import Pair
from strata.diagnose.models import Fit, own_part
from strata.diagnose.rows import Predicted
from strata.diagnose.view import Point
from strata.model.finding import FindingRow

MODEL = 0.15
"""What a prediction may be off by on logs before a row speaks against it."""


def rows_of(pair: Pair, model: Fit, points: Iterable[Point]) -> tuple[FindingRow, ...]:
    """A row for each of these points, the worst first."""
    return tuple(_row(pair, model, p) for p in sorted(points, key=lambda p: p.ratio_log))


def _row(pair: Pair, model: Fit, point: Point) -> FindingRow:
    """Of a limit beside a constant time both predict, and its share is what the limit itself takes."""
    low, high = predict.iops(pair, model, point, point.workload)
    row = Predicted(point, low, high).row(pair.view)
    return row.model_copy(update={"share": round(row.share * own_part(pair.view, [point], model), 3)})


def contradiction(pair: Pair, model: Fit) -> FindingRow | None:
    """The row that was measured furthest above the highest that the model lets be; None where none is."""
    worst: tuple[float, Point] | None = None
    for point in pair.view.points:
        _, high = predict.iops(pair, model, point, point.workload)
        beyond = math.log(point.x / high) - 2 * point.sd - MODEL
        if beyond > 0 and (worst is None or beyond > worst[0]):
            worst = beyond, point
    return None if worst is None else _row(pair, model, worst[1])


def cover(rows: Iterable[FindingRow], points: Iterable[Point], layer: str) -> float:
    """The share of the loss of these points that the rows account for, 0..1."""
    by = {row.cell: row.share for row in rows}
    lost = [(p.loss, by.get(f"{layer}/{p.key}", 0.0)) for p in points]
    total = sum(loss for loss, _ in lost)
    return sum(loss * share for loss, share in lost) / total if total > 0 else 1.0
