"""How much of a slow row a prediction explains: none of one that lies above it, as what happens there is not known."""

from __future__ import annotations

import pytest

from strata.diagnose.case import Case
from strata.diagnose.rows import Predicted, cover

from .known import SCENES


@pytest.mark.parametrize(("low", "high", "share"), [(0.9, 1.1, 1.0), (0.4, 0.6, 0.0), (1.5, 2.0, 0.7)])
def test_a_row_counts_by_how_far_its_prediction_reaches_and_not_where_it_gives_more_than_it_may(
    low: float, high: float, share: float
) -> None:
    scene = SCENES["far-wire"]
    [pair] = Case(scene.stack, scene.analysis(seed=1, sd=0.01), ()).pairs
    point = pair.view.affected[0]
    one = Predicted(point, low * point.x, high * point.x)
    assert one.share == pytest.approx(share, abs=0.15)
    assert cover([one], [point]) == pytest.approx(one.share)
    row = one.row(pair.view)
    assert (row.measured, row.low, row.high) == (point.x, one.low, one.high)
