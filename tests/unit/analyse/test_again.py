"""What equal runs differ by: from earlier ones of the cell, and what it does to the next interval."""

from __future__ import annotations

import math

import numpy as np
import pytest

from strata.analyse.again import FEWEST, Earlier, with_earlier
from strata.analyse.pooled import prior_of
from strata.analyse.series.mean import mean_of
from strata.model.noise import PooledNoise

BINS, BIN_S = 20, 0.1
WITHIN = 0.01
NOISE = PooledNoise(
    variance_s=WITHIN**2 * BIN_S, spread_df=10, correlation_s=BIN_S, between=0.3, between_df=1, cells=8, seconds=16
)


def run_of(rng: np.random.Generator, between: float, level: float = 1e4) -> np.ndarray:
    """The bins of one start."""
    return level * math.exp(rng.normal(0, between)) * (1 + rng.normal(0, WITHIN, BINS))


def earlier(rng: np.random.Generator, n: int, between: float, level: float = 1e4) -> list[Earlier]:
    return [Earlier("", float(run_of(rng, between, level).mean()), BINS * BIN_S) for _ in range(n)]


@pytest.mark.parametrize("between", [0.005, 0.02, 0.1])
def test_it_is_found_beside_what_the_bins_explain(between: float) -> None:
    found = with_earlier(NOISE, earlier(np.random.default_rng(1), 80, between))
    assert found is not None and found.between == pytest.approx(between, rel=0.3)
    assert found.between_df == 79
    assert (found.variance_s, found.cells) == (NOISE.variance_s, NOISE.cells)


def test_what_the_bins_explain_is_not_counted_twice() -> None:
    found = with_earlier(NOISE, earlier(np.random.default_rng(2), 80, 0.0))
    assert found is not None and found.between < 0.5 * WITHIN / math.sqrt(BINS)


def test_two_runs_say_nothing() -> None:
    assert with_earlier(NOISE, earlier(np.random.default_rng(3), FEWEST - 1, 0.02)) is NOISE
    assert with_earlier(None, earlier(np.random.default_rng(3), 9, 0.02)) is None


def test_runs_before_a_change_of_level_are_another_cells() -> None:
    rng = np.random.default_rng(4)
    found = with_earlier(NOISE, [*earlier(rng, 20, 0.01, level=2e4), *earlier(rng, 20, 0.01)])
    assert found is not None and found.between < 0.02 and found.between_df < 25


def test_one_run_that_a_neighbour_hit_does_not_forbid_all_later_ones() -> None:
    rng = np.random.default_rng(5)
    runs = earlier(rng, 30, 0.01)
    runs[12] = Earlier("", runs[12].iops / 3, runs[12].seconds)
    found = with_earlier(NOISE, runs)
    assert found is not None and found.between < 0.03


def test_with_it_the_interval_of_one_start_holds_the_mean_of_all() -> None:
    rng = np.random.default_rng(6)
    alone = held = 0
    for _ in range(200):
        prior = prior_of(with_earlier(NOISE, earlier(rng, 12, 0.02)))
        own = run_of(rng, 0.02)
        a, b = mean_of(own, BIN_S), mean_of(own, BIN_S, prior)
        assert a is not None and b is not None
        alone += abs(a.value - 1e4) <= a.half
        held += abs(b.value - 1e4) <= b.half
    assert alone < 140
    assert held >= 180
