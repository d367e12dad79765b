"""One measurement over its time: ramps, regimes, precision, and what ends it."""

from __future__ import annotations

import numpy as np
import pytest

from strata.analyse.series import regimes
from strata.analyse.series.course import course_of
from strata.analyse.series.longrun import Floats
from strata.analyse.series.mean import mean_of
from strata.analyse.series.prior import NoisePrior, pool
from strata.analyse.series.quantile import quantile_of
from strata.analyse.series.truncate import ramp_end
from strata.analyse.series.until import StoppingRule
from strata.model import histogram
from strata.model.course import Aim, Ending
from strata.model.result import Interval, IntervalDirection

BIN_NS = 100_000_000
MEAN_ONLY = Aim(percentile=None, seconds_max=20)


def intervals(rates: Floats, payload: str | None = None) -> list[Interval]:
    none = IntervalDirection(ops=0, bytes=0, errors=0)
    return [
        Interval(
            start_ns=i * BIN_NS,
            end_ns=(i + 1) * BIN_NS,
            read=IntervalDirection(
                ops=round(r / 10), bytes=round(r / 10) * 4096, errors=0, service_time=payload, service_sum_ns=round(r)
            ),
            write=none,
        )
        for i, r in enumerate(rates)
    ]


def noisy(n: int, cv: float = 0.02, seed: int = 1) -> Floats:
    return 1e5 * (1 + np.random.default_rng(seed).normal(0, cv, n))


def fed(rule: StoppingRule, rates: Floats) -> int:
    return next((i for i, one in enumerate(intervals(rates), 1) if rule.add(one) is not None), 0)


def test_a_climb_is_cut_and_a_steady_start_is_not() -> None:
    climb = noisy(60)
    climb[:12] *= np.linspace(0.2, 0.85, 12)
    assert 10 <= ramp_end(climb) <= 15
    chance = [ramp_end(noisy(60, seed=s)) for s in range(40)]
    assert max(chance) <= 5 and sum(x > 0 for x in chance) <= 3


def test_a_stall_in_the_first_half_does_not_throw_away_what_was_before_it() -> None:
    stalled = noisy(60)
    stalled[20:23] *= 0.1
    assert ramp_end(stalled) == 0


def test_a_full_write_cache_gives_two_regimes_and_the_figures_of_the_last() -> None:
    rates = noisy(100)
    rates[60:] *= 0.3
    course = course_of(intervals(rates))
    assert course is not None
    first, last = course.regimes
    assert (first.end_s, last.start_s) == pytest.approx((6.0, 6.0), abs=0.2)
    assert first.iops.value == pytest.approx(1e5, rel=0.02)
    assert course.iops == last.iops and course.iops.value == pytest.approx(3e4, rel=0.03)
    assert "MSER-5" in course.criterion and "SNIA" in course.criterion


def test_noise_and_single_stalls_are_one_regime() -> None:
    for seed in range(20):
        rates = noisy(150, 0.1, seed)
        rates[40:48] *= 0.1
        course = course_of(intervals(rates))
        assert course is not None and len(course.regimes) == 1


def test_a_level_that_keeps_changing_is_no_regime(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regimes, "changes", lambda _values, _bin_s: (60, 120, 180, 240))
    course = course_of(intervals(noisy(300) * np.repeat([1.0, 0.6, 0.35, 0.2, 0.1], 60)))
    assert course is not None and course.alternates and not course.steady
    assert len(course.regimes) == 1


def test_a_level_that_comes_and_goes_is_noise_with_a_long_memory() -> None:
    course = course_of(intervals(noisy(300) * np.where(np.arange(300) // 30 % 2, 1.0, 0.4)), aim=MEAN_ONLY)
    assert course is not None and len(course.regimes) == 1 and course.reached is False
    assert course.iops.low is not None and course.iops.high is not None
    assert course.iops.low <= 7e4 <= course.iops.high


def test_correlated_bins_count_for_less() -> None:
    plain, held = mean_of(noisy(200), 0.1), mean_of(np.repeat(noisy(20), 10), 0.1)
    assert plain is not None and held is not None
    assert held.effective < 40 < plain.effective
    assert held.half > 2 * plain.half
    assert mean_of(noisy(5), 0.1) is None


def test_a_lucky_series_is_held_back_by_what_the_other_cells_showed() -> None:
    lucky = noisy(30, 0.001)
    alone, held = mean_of(lucky, 0.1), mean_of(lucky, 0.1, NoisePrior(variance_s=0.01, df=10))
    assert alone is not None and held is not None and held.half > 5 * alone.half


def test_a_prior_counts_for_as_much_as_its_cells_agree() -> None:
    rng = np.random.default_rng(2)
    alike = pool([(0.01 * rng.chisquare(8) / 8, 8.0) for _ in range(40)])
    apart = pool([(0.01 * rng.chisquare(8) / 8 * 10.0 ** rng.normal(0, 1), 8.0) for _ in range(40)])
    assert alike is not None and apart is not None
    assert alike.df > 10
    assert apart.df < 2
    assert alike.variance_s == pytest.approx(0.01, rel=0.2)
    assert pool([(0.01, 8.0)] * 2) is None


def test_a_quiet_one_ends_by_precision_after_the_minimum_and_says_so() -> None:
    rule = StoppingRule(MEAN_ONLY)
    assert fed(rule, noisy(200)) == 30
    assert rule.ended is Ending.PRECISION
    assert rule.add(intervals(noisy(1))[0]) is Ending.PRECISION


def test_what_equal_starts_differ_by_is_in_the_interval_and_may_forbid_the_aim() -> None:
    near, far, few = (NoisePrior(1e-6, 5, between, df) for between, df in ((0.003, 20), (0.03, 20), (0.03, 1)))
    for prior, ended in ((near, Ending.PRECISION), (far, Ending.STARTS), (few, Ending.PRECISION)):
        rule = StoppingRule(MEAN_ONLY, prior)
        assert (fed(rule, noisy(200)), rule.ended) == (30, ended)
    course = course_of(intervals(noisy(30)), prior=far, aim=MEAN_ONLY, ended=Ending.STARTS)
    assert course is not None and course.iops.half_width is not None
    assert course.iops.half_width == pytest.approx(2.086 * 0.03 * 1e5, rel=0.1)
    assert (course.between, course.reached) == (0.03, False)
    # Of one regime against another within one start it says nothing.
    own = course.regimes[-1].iops
    assert own.value == course.iops.value and (own.half_width or 1e9) < 0.02 * 1e5


def test_what_too_few_starts_differ_by_is_not_known() -> None:
    course = course_of(intervals(noisy(30)), prior=NoisePrior(1e-6, 5, 0.03, 1))
    assert course is not None and course.between is None
    assert course.iops == course.regimes[-1].iops


def test_a_noisy_one_ends_by_time_and_a_budget_of_bytes_holds() -> None:
    rule = StoppingRule(MEAN_ONLY)
    assert (fed(rule, noisy(300, 0.5)), rule.ended) == (200, Ending.TIME)
    budget = StoppingRule(MEAN_ONLY.model_copy(update={"bytes_max": 10 * 10_000 * 4096}))
    assert fed(budget, noisy(300, 0.001)) in (8, 9)
    assert budget.ended is Ending.BYTES


def test_after_a_cliff_the_new_regime_needs_the_minimum_for_itself() -> None:
    rates = noisy(200, 0.03)
    rates[25:] *= 0.3
    rule = StoppingRule(MEAN_ONLY)
    assert fed(rule, rates) >= 55
    assert rule.ended is Ending.PRECISION


def test_an_asked_percentile_holds_the_end_back_until_its_samples_support_it() -> None:
    payload = histogram.from_bins(dict.fromkeys(range(1000, 2000), 1))
    few = StoppingRule(Aim(percentile="99.99", seconds_max=5))
    assert [few.add(i) for i in intervals(noisy(50, 0.001), payload)][-1] is Ending.TIME
    tail = StoppingRule(Aim(percentile="99", seconds_max=20))
    for one in intervals(noisy(200, 0.001), payload):
        if tail.add(one) is not None:
            break
    assert tail.ended is Ending.PRECISION


def test_a_nine_is_given_only_where_independent_samples_support_it() -> None:
    calm = (list(range(1000, 2000)), [1] * 1000)
    found = quantile_of([calm] * 20, "99")
    assert found is not None and found.low is not None and found.high is not None
    assert found.low <= found.value <= found.high and found.value == pytest.approx(1990, abs=2)
    assert quantile_of([calm] * 20, "99.9") is None  # 20 beyond it
    # Two hundred beyond it, all of one moment: one event.
    burst = (list(range(9000, 9400)), [1] * 400)
    assert quantile_of([*[calm] * 19, burst], "99") is None
