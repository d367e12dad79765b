"""What a change of the nodes did to a load that ran meanwhile."""

from __future__ import annotations

import numpy as np
import pytest

from strata.analyse.scaling.elastic import Moment, elastic


def course(before: float, during: float, after: float) -> list[Moment]:
    """Thirty seconds in tenths: a change from 10 to 15 s."""
    rates = [before] * 100 + [during] * 50 + [after] * 150
    # One interval is 5 % above the mean, the next as far below.
    return [Moment(i / 10 + 0.05, rate * (1 + 0.05 * (-1) ** i)) for i, rate in enumerate(rates)]


def test_dip_recovery_and_the_new_level() -> None:
    found = elastic(course(1000, 300, 1500), 10.0, 15.0)
    assert found is not None
    assert found.dip == pytest.approx(0.7, abs=0.03) and found.gain == pytest.approx(1.5, rel=0.01)
    assert found.recovered_s == pytest.approx(5.0, abs=0.6)
    assert found.before.value == pytest.approx(1000) and found.after.value == pytest.approx(1500, rel=0.01)


def test_a_load_that_did_not_notice_has_neither_dip_nor_recovery() -> None:
    found = elastic(course(1000, 1000, 1000), 10.0, 15.0)
    assert found is not None and found.dip < 0.06 and found.recovered_s == 0.0


def test_a_rate_that_falls_again_at_the_end_has_not_recovered() -> None:
    series = course(1000, 300, 1000)
    series[-12:] = [Moment(m.at, 100.0) for m in series[-12:]]
    found = elastic(series, 10.0, 15.0)
    assert found is not None and found.recovered_s is None


def test_without_a_level_before_or_after_nothing_is_told() -> None:
    series = course(1000, 300, 1500)
    assert elastic(series, 0.3, 5.0) is None and elastic(series, 10.0, 29.9) is None


def test_a_level_that_scatters_is_not_a_fall() -> None:
    """On a machine that others use single intervals lie far off; the load was back when the change was over."""
    draw = np.random.default_rng(3)
    series = [Moment(m.at, m.rate * float(np.exp(draw.normal(0, 0.25)))) for m in course(1000, 200, 1000)]
    found = elastic(series, 10.0, 15.0)
    assert found is not None and found.recovered_s == pytest.approx(5.0, abs=1.0)


def test_one_mean_below_the_level_is_chance_and_a_fall_of_a_second_is_none() -> None:
    quiet = course(1000, 300, 1000)
    # One window of ten holds both of these, and lies 12 % lower for it.
    low = {220: 400.0, 229: 400.0}
    found = elastic([Moment(m.at, low.get(i, m.rate)) for i, m in enumerate(quiet)], 10.0, 15.0)
    assert found is not None and found.recovered_s == pytest.approx(5.0, abs=0.6)
    again = elastic([Moment(m.at, 300.0 if 22.0 < m.at < 23.0 else m.rate) for m in quiet], 10.0, 15.0)
    assert again is not None and again.recovered_s == pytest.approx(13.0, abs=0.6)
