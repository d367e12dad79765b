"""A goal is met or missed only where the whole interval says so."""

from __future__ import annotations

import pytest

from strata.analyse.whole import goal_results
from strata.model.analysis import CellSummary
from strata.model.estimate import Estimate
from strata.model.profile import GoalOutcome
from strata.plan.profiles import profile_of

TEXT = """
title = "t"
source = "s"
[[workload]]
name = "log"
rw = "write"
bs = "4k"
fdatasync = 1
direct = false
goals = [
  { figure = "mean", good = "1ms", most = "5ms" },
  { figure = "flush 99", most = "10ms" },
  { figure = "iops", least = 100 },
  { figure = "99.9", most = "9ms" },
]
"""
PROFILE = profile_of(TEXT, "t", "t")


def cell(mean: tuple[float, float], flush: float, iops: tuple[float, float]) -> CellSummary:
    def est(low: float, high: float, unit: str) -> Estimate:
        return Estimate(value=(low + high) / 2, low=low, high=high, n=5, unit=unit)

    return CellSummary(
        layer="disk", workload=PROFILE.workloads[0].workload, rounds=5, ios=1000, iops=est(*iops, "IOPS"),
        bytes_per_second=est(1, 2, "B/s"), mean_ns=est(*mean, "ns"), latency_ns={}, curve=(), outstanding=1.0,
        flushes=1000, flush_ns={"99": flush},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("mean", "outcome"),
    [
        ((0.5e6, 0.9e6), GoalOutcome.GOOD),
        ((0.9e6, 1.1e6), GoalOutcome.MET),
        ((4e6, 6e6), GoalOutcome.CANNOT_TELL),
        ((5.1e6, 6e6), GoalOutcome.MISSED),
    ],
)
def test_a_latency_against_its_band(mean: tuple[float, float], outcome: GoalOutcome) -> None:
    results = goal_results(PROFILE, [cell(mean, 1e6, (90, 95))], ["disk"])
    assert results[0].outcome is outcome
    assert [r.outcome for r in results[1:]] == [GoalOutcome.MET, GoalOutcome.MISSED, GoalOutcome.NOT_MEASURED]


@pytest.mark.parametrize(
    ("flush", "outcome"),
    [(7e6, GoalOutcome.MET), (9e6, GoalOutcome.CANNOT_TELL), (14e6, GoalOutcome.MISSED)],
)
def test_a_figure_without_an_interval_must_be_far_from_its_bound(flush: float, outcome: GoalOutcome) -> None:
    assert goal_results(PROFILE, [cell((1, 2), flush, (1, 2))], ["disk"])[1].outcome is outcome


def test_a_layer_that_was_not_measured_says_so() -> None:
    results = goal_results(PROFILE, [], ["disk", "file system"])
    assert [r.layer for r in results[:2]] == ["disk", "file system"]
    assert {r.outcome for r in results} == {GoalOutcome.NOT_MEASURED}
