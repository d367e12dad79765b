"""Results of a run in, their analysis out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from strata.analyse.compare import compare
from strata.analyse.laws import RunView, check_run
from strata.analyse.noise import noise_floor
from strata.analyse.references import specified
from strata.analyse.rounds import collect_all
from strata.analyse.summary import summarise
from strata.model.analysis import Analysis, CellSummary, Comparison, Generator, Remote
from strata.model.estimate import Estimate
from strata.model.foreign_io import ForeignIo
from strata.model.noise import PooledNoise
from strata.model.plan import Plan
from strata.model.profile import Goal, GoalOutcome, GoalResult, Profile
from strata.model.result import CellResult
from strata.model.run import DataSet, NoiseProbe
from strata.model.survey import Survey


def analyse(
    plan: Plan,
    results: Sequence[CellResult],
    *,
    remotes: Sequence[Remote] = (),
    foreign: Sequence[ForeignIo] = (),
    survey: Survey | None = None,
    **known: Any,
) -> Analysis:
    """Summaries, comparisons and the laws that did not hold. A run without a single I/O gives empty ones.

    ``known``: further words of `view_of`.
    """
    run = view_of(plan, results, survey=survey, **known)
    return Analysis(
        noise=run.noise,
        cells=tuple(run.cells),
        comparisons=tuple(run.comparisons),
        checks=check_run(run),
        generator=run.generator,
        remotes=tuple(remotes),
        foreign=tuple(foreign),
        goals=goal_results(plan.profile, run.cells, [x.name for x in plan.stack.layers]) if plan.profile else (),
        devices=survey.devices if survey else (),
        references=specified(plan.stack, run.cells),
        data_bytes=data.size if (data := known.get("data")) is not None else None,
    )


def compared(
    plan: Plan, results: Sequence[CellResult], first_noise: NoiseProbe | None = None, earlier: PooledNoise | None = None
) -> tuple[Comparison, ...]:
    """The comparisons alone: what decides whether to measure on."""
    rounds = collect_all(plan, results)
    return compare(plan, rounds, noise_floor(rounds.values(), first_noise, earlier))


def view_of(
    plan: Plan,
    results: Sequence[CellResult],
    *,
    data: DataSet | None = None,
    generator: Generator | None = None,
    survey: Survey | None = None,
    first_noise: NoiseProbe | None = None,
    chain: Sequence[str] | None = None,
    earlier: PooledNoise | None = None,
) -> RunView:
    """The run as the laws see it: rounds, noise floor, summaries and comparisons.

    ``chain``: the block devices from the file system downward, where there is no survey to say them.
    """
    rounds = collect_all(plan, results)
    noise = noise_floor(rounds.values(), first_noise, earlier)
    if chain is None and survey is not None:
        chain = tuple(d.name.removeprefix("/dev/") for d in survey.devices)
    started = [r.result.started_unix_ns for r in results if r.result is not None]
    origin = min(started, default=None)
    cells = tuple(
        s for c in rounds.values() if (s := summarise(c, chain=chain or (), noise=noise, origin_ns=origin)) is not None
    )
    devices = chain is None or bool(chain) or any(r.devices for r in results)
    comparisons = compare(plan, rounds, noise)
    memory = survey.memory.total if survey else None
    return RunView(plan, rounds, cells, comparisons, noise, data, generator, devices=devices, memory=memory)


def with_traces(analysis: Analysis, results: Iterable[CellResult]) -> Analysis:
    """The same analysis; a cell that was traced again later has its last traces."""
    traces = {(r.layer, r.workload_key): r.traces for r in results if r.traces}
    if not traces:
        return analysis
    cells = tuple(c.model_copy(update={"traces": traces.get((c.layer, c.workload.key), ())}) for c in analysis.cells)
    return analysis.model_copy(update={"cells": cells})


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
