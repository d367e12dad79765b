"""A profile's goals against what was measured."""

from __future__ import annotations

from collections.abc import Sequence

from strata.model.analysis import CellSummary
from strata.model.estimate import Estimate
from strata.model.profile import Goal, GoalOutcome, GoalResult, Profile

WITHOUT_INTERVAL = 0.25
"""How far a figure that has no interval must be from its bound, as a share of the figure."""


def goal_results(profile: Profile, cells: Sequence[CellSummary], layers: Sequence[str]) -> tuple[GoalResult, ...]:
    """Every goal at every one of ``layers``, in the order of the profile.

    The whole interval decides: a goal that lies inside it is neither met nor missed.
    """
    found = {(cell.layer, cell.workload.key): cell for cell in cells}
    results = []
    for asked in profile.workloads:
        for goal in asked.goals:
            for layer in layers:
                cell = found.get((layer, asked.workload.key))
                value = None if cell is None else _figure(cell, goal.figure)
                outcome = _outcome(goal, value)
                results.append(GoalResult(layer=layer, workload=asked.name, goal=goal, outcome=outcome, value=value))
    return tuple(results)


def _figure(cell: CellSummary, figure: str) -> Estimate | None:
    if figure == "iops":
        return cell.iops
    if figure == "bytes_per_second":
        return cell.bytes_per_second
    if figure == "mean":
        return cell.mean_ns
    what, _, name = figure.rpartition(" ")
    if not what:
        return cell.latency_ns.get(name)
    if name not in cell.flush_ns:
        return None
    return Estimate(value=cell.flush_ns[name], low=None, high=None, n=cell.flushes, unit="ns")


def _outcome(goal: Goal, value: Estimate | None) -> GoalOutcome:
    if value is None:
        return GoalOutcome.NOT_MEASURED
    low, high = _interval(value)
    if goal.least is not None:
        if low >= goal.least:
            return GoalOutcome.MET
        return GoalOutcome.MISSED if high < goal.least else GoalOutcome.CANNOT_TELL
    most = goal.most or 0.0
    if high <= most:
        return GoalOutcome.GOOD if goal.good is not None and high <= goal.good else GoalOutcome.MET
    return GoalOutcome.MISSED if low > most else GoalOutcome.CANNOT_TELL


def _interval(value: Estimate) -> tuple[float, float]:
    """The estimate's own; where there is none (flushes are pooled over the rounds) a wide one stands in."""
    if value.low is None or value.high is None:
        return value.value * (1 - WITHOUT_INTERVAL), value.value * (1 + WITHOUT_INTERVAL)
    return value.low, value.high
