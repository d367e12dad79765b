"""Intervals of the engine's benchmark, and what they decide."""

from __future__ import annotations

import math

from enginebench.estimate import Estimate, exact, median, paired, pooled
from enginebench.rows import ABSENT, MET, NOT_MET, OPEN, Row


def test_the_interval_of_a_median_is_a_pair_of_order_statistics() -> None:
    seven = median([7, 1, 6, 2, 5, 3, 4])
    # Seven values: only smallest to largest holds the median with 95 % (2nd to 6th: 87.5 %).
    assert seven == Estimate(4, 1, 7, 7)
    # Nine: 2nd to 8th holds it with 96 %.
    assert median(list(range(1, 10))) == Estimate(5, 2, 8, 9)
    assert median([3.0]) == Estimate(3.0, None, None, 1)


def test_a_slow_round_falls_out_of_paired_ratios() -> None:
    assert paired([10, 1, 10], [20, 2, 20]) == Estimate(0.5, 0.5, 0.5, 3)


def test_pooled_ratios_weigh_all_rounds_and_survive_rounds_without_a_tick() -> None:
    estimate = pooled([0, 4, 2, 2, 0, 4, 2], [10, 10, 10, 10, 10, 10, 10])
    assert estimate.value == 0.2
    assert estimate.low is not None
    assert estimate.high is not None
    assert 0 < estimate.low < 0.2 < estimate.high < 0.4
    assert pooled([1, 1], [0, 0]).value == math.inf


def test_a_verdict_needs_the_whole_interval_on_one_side() -> None:
    def verdict(low: float | None, high: float | None, sense: str = "<=") -> str:
        return Row("m", "p", "×", sense, 1.0, Estimate(1.0, low, high, 7)).verdict

    assert [verdict(0.8, 0.9), verdict(0.8, 1.1), verdict(1.1, 1.2), verdict(None, None)] == [MET, OPEN, NOT_MET, OPEN]
    assert [verdict(1.1, 1.2, ">="), verdict(0.8, 0.9, ">=")] == [MET, NOT_MET]
    assert Row("m", "p", "", "<=", 1.0, why_not="no such tool").verdict == ABSENT
    assert Row("m", "p", "", "<=", 1.0, exact(1.0)).verdict == MET
