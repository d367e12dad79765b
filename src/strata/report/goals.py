"""A profile's goals in words: what was asked, and what each layer gave."""

from __future__ import annotations

from strata.model.groups import grouped
from strata.model.profile import GoalOutcome, GoalResult
from strata.model.run import Report
from strata.report import figures

MARK = {
    GoalOutcome.GOOD: "+",
    GoalOutcome.MET: "=",
    GoalOutcome.MISSED: "▼",
    GoalOutcome.CANNOT_TELL: "?",
    GoalOutcome.NOT_MEASURED: "–",
}


def title(report: Report) -> str:
    """``sql-oltp: SQL Server, many small transactions``; empty without a profile."""
    profile = report.run.plan.profile
    return "" if profile is None else f"{profile.name}: {profile.title}"


def rows(report: Report) -> list[tuple[str, list[GoalResult]]]:
    """Each goal with the results of all layers, in the order of the profile."""
    found = grouped(((result.workload, result.goal.words), result) for result in report.analysis.goals)
    return [(f"{workload}: {goal}", results) for (workload, goal), results in found.items()]


def told(result: GoalResult) -> str:
    """``disk 3.1 ms ±0.2 ms, met``."""
    if result.value is None:
        return f"{result.layer} not measured"
    return f"{result.layer} {figures.measured(result.value)}, {result.outcome.value}"
