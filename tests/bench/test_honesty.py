"""The small form of `make bench-honesty`: stated intervals hold, and equal things are called equal."""

from __future__ import annotations

import pytest
from honesty import synthetic
from honesty.rows import Row, binomial, table
from honesty.scenes import cliff, correlated, ramped
from honesty.tables import SCENES, tables

TIMES = 30
"""Pairs: of 60 intervals at 95 % fewer than 51 hold in one of ten thousand cases."""


@pytest.mark.ci
@pytest.mark.parametrize(
    "scene", [correlated(0.03, 0), correlated(0.03, 0.3), ramped(), cliff(2.5)], ids=lambda s: s.name
)
def test_a_measurement_that_ends_itself_holds_the_truth(scene: synthetic.Scene) -> None:
    row = synthetic.scene(scene, TIMES, seed=7)
    assert row.coverage is not None and row.coverage >= 51 / 60
    assert row.different <= 5 / 30


def test_few_rounds_of_a_noisy_cell_hold_it_too() -> None:
    row = synthetic.few_rounds(3, 3.0, 300, seed=7)
    assert row.coverage is not None and row.coverage >= 0.88
    assert row.different <= 0.08


@pytest.mark.ci
def test_a_comparison_that_trusts_the_pool_alone_would_be_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    from strata.analyse import rows

    scene = next(s for s in SCENES if "one of 6 %, 3 rounds" in s.name)
    assert tables(scene, 100, seed=7).holds
    monkeypatch.setattr(rows, "OWN_LEVEL", 0.0)
    assert not tables(scene, 100, seed=7).holds


def test_an_interval_that_ignores_correlation_would_be_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    from strata.analyse.series import longrun

    monkeypatch.setattr(longrun, "lag_one", lambda _: 0.0)
    monkeypatch.setattr(longrun, "UPWARD", 0.0)
    monkeypatch.setattr(longrun, "MERGED", (1,))
    monkeypatch.setattr(longrun, "BATCHES", ())
    row = synthetic.scene(correlated(0.03, 1.0), TIMES, seed=7)
    assert row.coverage is not None and row.coverage < 0.75 and not row.holds


def test_a_missed_bar_is_marked_in_the_table() -> None:
    good, bad = Row("good", 0.95, 0.02, times=600), Row("bad", 0.80, 0.02, times=600)
    assert [line.endswith("**missed** |") for line in table([good, bad]).splitlines()] == [False, False, False, True]


def test_a_share_has_the_interval_of_its_count() -> None:
    # Clopper and Pearson's own: none of 10, and 5 of 100.
    assert binomial(0.0, 10) == pytest.approx((0.0, 0.3085), abs=1e-4)
    assert binomial(0.05, 100) == pytest.approx((0.0164, 0.1128), abs=1e-4)
    assert binomial(1.0, 10)[1] == 1.0
    row = Row("many", 0.95, 0.02, times=400)
    assert row.different_range == binomial(0.02, 200) and "95.0 % (92.4 to 96.9)" in table([row])
