"""Do the intervals hold what they promise, also with three rounds and with a neighbour in one of them?"""

from __future__ import annotations

import math

import numpy as np
import pytest

from strata.analyse.stats import centre, estimate, t_quantile


def coverage(
    n: int, *, outlier: float = 0.0, pooled: float | None = 0.05, sd: float = 0.05, times: int = 3000
) -> float:
    rng = np.random.default_rng(n)
    inside = 0
    for _ in range(times):
        x = rng.normal(0, sd, n)
        x[0] += outlier
        at, half = centre(x, pooled)
        assert half is not None
        inside += abs(at) <= half
    return inside / times


@pytest.mark.parametrize("n", [3, 4, 5, 6, 10])
def test_the_interval_covers_the_truth_in_95_of_100(n: int) -> None:
    assert 0.93 <= coverage(n) <= 0.985


@pytest.mark.parametrize("n", [3, 4, 5, 10])
@pytest.mark.parametrize("noisier", [0.5, 2.0, 3.0])
def test_a_cell_from_half_to_thrice_as_noisy_as_the_pool_is_covered_in_nine_of_ten(n: int, noisier: float) -> None:
    assert coverage(n, pooled=0.05 / noisier, times=2000) >= 0.895  # two standard errors: 0.013


def test_one_round_of_five_hit_by_a_neighbour_does_not_move_the_answer_out_of_its_interval() -> None:
    assert coverage(5, outlier=-0.7) >= 0.90
    rng = np.random.default_rng(3)
    moved = [abs(centre([*rng.normal(0, 0.03, 4), -0.7], 0.03)[0]) for _ in range(200)]
    assert np.mean(moved) < 0.04  # the mean would be off by 0.14


def test_without_other_cells_it_is_a_plain_t_interval() -> None:
    at, half = centre([1.0, 2.0, 3.0])
    assert at == pytest.approx(2.0)
    assert half == pytest.approx(4.303 * 1 / math.sqrt(3), rel=0.35)  # one of three lies at Huber's edge
    assert t_quantile(2) == pytest.approx(4.3027, abs=1e-3)


def test_one_round_has_no_interval_and_equal_rounds_have_an_empty_one() -> None:
    one = estimate([7.0], "IOPS")
    assert (one.low, one.high, one.n) == (None, None, 1)
    same = estimate([7.0, 7.0, 7.0], "IOPS")
    assert same.low == pytest.approx(7.0) == same.high


def test_added_time_may_be_negative() -> None:
    found = estimate([-2.0, 1.0, 0.5], "ns")
    assert found.low is not None and found.low < 0


@pytest.mark.parametrize("unit", ["IOPS", "ns"])
def test_what_is_never_below_zero_has_no_interval_below_it(unit: str) -> None:
    # One round without any I/O puts it on the plain scale, whose lower end was far below nothing.
    found = estimate([0.0, 900.0, 30.0], unit)
    assert found.low == 0.0
    assert found.high is not None and found.high > found.value
    # A difference has a sign.
    below = estimate([-4.0, 900.0, 30.0], unit)
    assert below.low is not None and below.low < 0
