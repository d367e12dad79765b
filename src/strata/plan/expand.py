"""A stack and workloads, expanded into a plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from strata import units
from strata.errors import UsageError
from strata.model.base import Value
from strata.model.placement import Placement
from strata.model.plan import Cell, Further, Plan, Step
from strata.model.precondition import PreconditionBudget
from strata.model.stack import Layer, Stack
from strata.model.workload import Workload
from strata.plan import cost
from strata.plan.ident import new_id
from strata.plan.order import interleave


class Schedule(Value):
    """How often each cell is measured and how long, in seconds.

    ``further_s`` bounds what may follow the steps (0: nothing), with further rounds where ``detail`` says so;
    ``whole_s``: by then all of it ends.
    """

    rounds: int
    ramp_s: float
    runtime_s: float
    interval_s: float
    cooldown_s: float = 0.0
    further_s: float = 0.0
    detail: bool = False
    whole_s: float | None = None

    def problems(self, overhead_s: float) -> list[str]:
        """What does not add up, with ``overhead_s`` for each step beyond its run time."""
        return [
            problem
            for wrong, problem in (
                (self.rounds < 1, f"rounds={self.rounds}: at least one is needed"),
                (self.ramp_s < 0, f"ramp={self.ramp_s:g} s is negative"),
                (not self.runtime_s > 0, f"runtime={self.runtime_s:g} s: nothing would be measured"),
                (not self.interval_s > 0, f"interval={self.interval_s:g} s must be above 0"),
                (overhead_s < 0, f"overhead={overhead_s:g} s a step is negative"),
                (self.cooldown_s < 0, f"cooldown={self.cooldown_s:g} s is negative"),
            )
            if wrong
        ]


def expand(
    stack: Stack,
    workloads: Sequence[Workload],
    schedule: Schedule,
    *,
    file_size: int,
    seed: int,
    skips: Mapping[str, str] | None = None,
    read_only_layers: Collection[str] = (),
    step_overhead_s: float = cost.STEP_OVERHEAD_S,
    assumed_write_bps: float = cost.ASSUMED_WRITE_BPS,
    placement: Placement | None = None,
    precondition: PreconditionBudget | None = None,
    plan_id: str | None = None,
) -> Plan:
    """Every workload at every layer, and the order of `strata.plan.order`.

    ``file_size`` in bytes (0: there is no file of ours to fill). ``skips`` gives the reason by
    cell key; a writing workload at one of ``read_only_layers`` is kept in the plan and skipped. ``seconds`` of the
    plan holds the steps, not the fill of the file, whose speed nobody knows yet; ``bytes_written`` holds both. So is
    what may follow the steps.

    Raises `UsageError` with everything that does not add up.
    """
    given = dict(skips or {})
    cells = tuple(
        Cell(layer=layer.name, workload=workload, skip=_skip(layer, workload, given, read_only_layers))
        for workload in workloads
        for layer in stack.layers
    )
    problems = [
        *schedule.problems(step_overhead_s),
        *_workload_problems(workloads, file_size),
        *(f"no layer is named {name!r}" for name in sorted(set(read_only_layers) - {x.name for x in stack.layers})),
        *(f"no cell is named {key!r}" for key in sorted(set(given) - {c.key for c in cells})),
    ]
    if problems:
        raise UsageError("cannot plan", f"stack {stack.name!r}", problems=tuple(problems))
    steps = interleave(cells, schedule.rounds, seed)
    span = schedule.ramp_s + schedule.runtime_s
    written = _bytes_written(cells, steps, span, assumed_write_bps)
    # As much again as the steps may write: a bound that is kept, because what a layer takes is known by then.
    further = None
    if schedule.further_s > 0:
        further = Further(
            seconds=schedule.further_s, bytes_written=written, detail=schedule.detail, whole_s=schedule.whole_s
        )
    return Plan(
        id=plan_id or new_id(),
        stack=stack,
        cells=cells,
        steps=steps,
        rounds=schedule.rounds,
        seed=seed,
        ramp_s=schedule.ramp_s,
        runtime_s=schedule.runtime_s,
        interval_s=schedule.interval_s,
        file_size=file_size,
        seconds=len(steps) * (span + step_overhead_s)
        + max(0, len(steps) - 1) * schedule.cooldown_s
        + schedule.further_s,
        bytes_written=(file_size if steps else 0)
        + written
        + (further.bytes_written if further else 0)
        + cost.precondition_bytes((c.workload for c in cells if c.skip is None), precondition, assumed_write_bps),
        assumed_write_bps=assumed_write_bps,
        placement=placement,
        cooldown_s=schedule.cooldown_s,
        precondition=precondition,
        further=further,
    )


def _skip(layer: Layer, workload: Workload, given: Mapping[str, str], read_only: Collection[str]) -> str | None:
    cell = Cell(layer=layer.name, workload=workload)
    if cell.key in given:
        return given[cell.key]
    return workload.rw.refusal(layer.target.kind, read_only=layer.name in read_only)


def _bytes_written(cells: Sequence[Cell], steps: Sequence[Step], span: float, assumed_bps: float) -> int:
    each = {cell.key: cost.bytes_written(cell.workload, span, assumed_bps) for cell in cells}
    return sum(each[step.cell] for step in steps)


def _workload_problems(workloads: Sequence[Workload], file_size: int) -> list[str]:
    problems = [] if workloads else ["no workload"]
    twice = [key for key, n in Counter(w.key for w in workloads).items() if n > 1]
    problems += [f"workload {key} is requested twice" for key in twice]
    problems += [f"workload {w.key}: {w.rw.alone}" for w in workloads if w.rw.alone]
    if file_size < 0:
        problems.append(f"file size {file_size} is negative")
    problems += [
        f"workload {w.key} does not fit into a file of {units.size(file_size)}"
        for w in workloads
        if 0 < file_size < w.bs
    ]
    return problems
