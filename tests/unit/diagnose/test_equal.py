"""Whether layers may be called equal where single workloads are too noisy to tell."""

from __future__ import annotations

import math

import pytest

from strata.analyse.compare import equivalence
from strata.diagnose.equal import doubts, pooled
from strata.diagnose.layers import _too_near, least_lead
from strata.model.analysis import Analysis, Comparison, NoiseFloor
from strata.model.estimate import Estimate


def one(key: str, value: float, spread: float, expected: float = 0.15) -> Comparison:
    """A workload whose ratio is known to ``spread`` on its logarithm."""
    low, high = value * math.exp(-spread), value * math.exp(spread)
    ratio = Estimate(value=value, low=low, high=high, n=5, unit="ratio")
    return Comparison(
        layer="share",
        below="disk",
        workload_key=key,
        iops=ratio,
        latency={},
        added_ns=Estimate(value=0.0, low=None, high=None, n=1, unit="ns"),
        expected_overhead=expected,
        allowance=expected,
        verdict=equivalence(ratio, expected),
    )


def analysis(*ratios: tuple[float, float], tolerance: float = 0.2) -> Analysis:
    noise = NoiseFloor(between_rounds=0.1, within_bins=0.1, tolerance=tolerance, rounds=5, cells=len(ratios))
    comparisons = tuple(one(f"w{i}", *ratio) for i, ratio in enumerate(ratios))
    return Analysis(noise=noise, cells=(), comparisons=comparisons, checks=())


NOISY = ((0.99, 0.18), (0.93, 0.2), (1.04, 0.17), (0.97, 0.2), (0.90, 0.19), (1.08, 0.2), (0.95, 0.18), (1.01, 0.2))


def test_noise_hides_each_workload_and_not_all_of_them() -> None:
    found = analysis(*NOISY)
    assert all(c.verdict.value == "cannot tell" for c in found.comparisons[:2])
    whole = pooled(list(found.comparisons))
    assert whole is not None and whole.alike and whole.low > 0.85
    assert whole.told() == "0.98 (0.92–1.05)"
    assert doubts(found) == ()


@pytest.mark.parametrize(("value", "spread"), [(0.75, 0.14), (0.70, 0.25)])
def test_one_workload_that_is_not_like_the_others_stays_a_doubt(value: float, spread: float) -> None:
    found = doubts(analysis(*NOISY, (value, spread)))
    assert [d.text.split(":")[0] for d in found] == ["share, w8"]


def test_a_mean_that_noise_hides_is_a_doubt_with_the_rounds_it_needs() -> None:
    (found,) = doubts(analysis((0.9, 0.2), (0.9, 0.2)))
    assert "0.90 (0.78–1.04) over all workloads, allowed loss 15 %" in found.text
    assert 30 < found.rounds_needed < 40


def test_half_of_the_workloads_slower_is_not_one_level_within_what_is_stated() -> None:
    found = doubts(analysis(*((1.05, 0.1),) * 4, *((0.80, 0.1),) * 4))
    assert {d.text[:9] for d in found} == {f"share, w{i}" for i in range(4, 8)} | {"share ove"}


def test_a_run_of_an_earlier_version_keeps_the_line_it_was_held_against() -> None:
    earlier = one("w", 0.8, 0.01).model_dump() | {"allowance": 0.25}
    assert Comparison.model_validate(earlier).line == 0.75
    assert one("w", 0.8, 0.01).line == 0.85


def test_where_the_noise_is_in_the_way_a_quieter_machine_is_missing_and_not_more_workloads() -> None:
    assert least_lead(0.17) > 1.0 > least_lead(0.0)
    assert "quieter machine or more rounds" in _too_near(1.0, 0.17) and "17 %" in _too_near(1.0, 0.17)
    assert "workloads that differ" in _too_near(0.2, 0.17)
    assert "workloads that differ" in _too_near(0.2, 0.01)
