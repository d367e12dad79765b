"""What a cause predicts of a row by more than a fitted shape: an interval, of which a part is certain."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from strata import units
from strata.diagnose import models
from strata.diagnose.view import Point, View
from strata.model.finding import FindingRow

MODEL = 2 * models.MODEL_SD
"""What a prediction is off by, on logs, at the edge of its interval."""


@dataclass(frozen=True)
class Predicted:
    """What a cause makes of one workload: IOPS between ``low`` and ``high``.

    ``sure``: what it leaves at most where only that is certain, as one round trip is and further ones are not.
    """

    point: Point
    low: float
    high: float
    sure: float | None = None

    @property
    def off(self) -> float:
        """How far the measured interval lies outside the predicted one, on logs: above it is positive, inside is 0."""
        wide = 2 * self.point.sd + MODEL
        over = math.log(self.point.x / self.high) - wide
        under = math.log(self.low / self.point.x) - wide
        return max(0.0, over) - max(0.0, under)

    @property
    def inside(self) -> float:
        """The IOPS it predicts, as near to what was measured as its interval reaches."""
        return min(max(self.point.x, self.low), self.high)

    @property
    def share(self) -> float:
        """0..1 of the row's loss that it explains; where only ``sure`` is certain, what is between counts half.

        None of a row that gives more than it allows, beyond its interval: what it does there is not known.
        """
        if self.off > 0:
            return 0.0
        whole = self._part(self.inside)
        return whole if self.sure is None else (whole + self._part(max(self.sure, self.point.x))) / 2

    def _part(self, left: float) -> float:
        return min(1.0, max(0.0, math.log(self.point.x_below / left) / self.point.loss)) if self.point.loss else 0.0

    def row(self, view: View) -> FindingRow:
        return FindingRow(
            cell=view.cell(self.point), measured=self.point.x, low=self.low, high=self.high, share=round(self.share, 3)
        )


def cover(found: Sequence[Predicted], slow: Sequence[Point]) -> float:
    """The part of the loss of all slow rows that these account for."""
    lost = sum(p.loss for p in slow)
    return sum(f.share * f.point.loss for f in found) / lost if lost > 0 else 0.0


def exceeded(found: Iterable[Predicted]) -> Predicted | None:
    """The row that gives most more than a limit allows, beyond its interval: a limit that is exceeded is none."""
    worst = max(found, key=lambda f: f.off, default=None)
    return worst if worst is not None and worst.off > 0 else None


def said(one: Predicted) -> str:
    """``randread 8 KiB, depth 1: predicted 160–180 IOPS, measured 90``."""
    wanted = units.span(units.count(one.low), units.count(one.high)) if one.high > one.low * 1.05 else None
    return (
        f"{one.point.workload.label}: predicted {wanted or units.count(one.high)} IOPS, measured "
        f"{units.count(one.point.x)}"
    )
