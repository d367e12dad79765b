"""``strata stage``: a stack whose layers cannot be there at once, one stage after the other.

Where each stage stands, what is to be done by hand next, and the measurement of one layer by itself: with the
workloads, times and rounds of the stages before it, and with the anchor beside it. The store remembers them, so that it
goes on another day, or on another host with the same store.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from strata.app.diagnose import chosen_workloads
from strata.app.kept import opened
from strata.app.live import recorded
from strata.app.options import Options
from strata.app.plan import plan_of, refused_cells
from strata.app.runner import QUICK_GENERATOR, Emit, Runner, rates, run_of, times
from strata.app.safety_gate import Targets, opened_together
from strata.app.sampling_scope import sampling_scope_of_endpoints
from strata.app.signals import stop_on_signals
from strata.app.stacks import read_stack
from strata.app.stages import ANCHOR, Stage, located, stage_of
from strata.engine import Piece, Timing, engine_for, measure_generator
from strata.errors import RunFailed, Stopped, UsageError, choices
from strata.host.runlock import held
from strata.model.endpoint import Endpoint, EndpointKind
from strata.model.plan import HEAD, Cell, Step
from strata.model.progress import Glance, Phase, Progress
from strata.model.result import CellResult, Interval
from strata.model.run import RunStatus
from strata.model.stack import Layer, Stack
from strata.model.stages import StagesState, StageState
from strata.plan.ident import new_id
from strata.plan.workloads import DIAGNOSE
from strata.run.machine import RunMachine

if TYPE_CHECKING:
    from strata.model.workload import Workload
    from strata.store import Store


def state_of(path: Path, store_url: str | None) -> StagesState:
    """Which layers have a measurement, and which is next. Raises `UsageError`."""
    stack = _staged(path)
    with opened(store_url) as store:
        found = [
            (layer, stage_of(layer, path.parent, store, store_url) if layer.brought else None)
            for layer in located(stack, store).layers
        ]
    return _state(path, stack, found)


def _state(path: Path, stack: Stack, found: list[tuple[Layer, Stage | None]]) -> StagesState:
    states = tuple(
        StageState(
            layer=layer.name, endpoint=layer.endpoint, prepare=layer.prepare,
            record=None if stage is None else stage.record,
            workloads=() if stage is None else tuple(stage.cells),
            anchored=stage is not None and bool(stage.anchors),
        )
        for layer, stage in found
    )  # fmt: skip
    return StagesState(path=str(path), stack=stack.name, anchor=stack.anchor, stages=states)


def _staged(path: Path) -> Stack:
    stack = read_stack(path)
    if not stack.staged:
        raise UsageError(
            "cannot measure in stages:", str(path), "its layers are measured together",
            "write stages = true in [stack] if they cannot exist at the same time; otherwise use strata diagnose",
        )  # fmt: skip
    return stack


def measure_stage(path: Path, layer_name: str | None, options: Options, emit: Emit) -> StagesState:
    """Measure one layer by itself (the first that has no measurement), keep it, and say how the stages stand then.

    Raises what the safety gate raises, and `UsageError` where every layer has a measurement.
    """
    stack = _staged(path)
    with opened(options.store) as store:
        known = located(stack, store)
        stages = [stage_of(x, path.parent, store, options.store) for x in known.layers if x.brought]
    layer = _next(known, layer_name)
    repeated = next((one.workload for stage in stages for one in stage.anchors.values()), None)
    _measure(stack, layer, _like(stages, options), repeated, emit)
    return state_of(path, options.store)


def _next(stack: Stack, name: str | None) -> Layer:
    names = [layer.name for layer in stack.layers]
    if name is not None:
        if name not in names:
            raise UsageError("no such layer", name, "", choices(name, names))
        return stack.layer(name)
    layer = next((x for x in stack.layers if not x.brought), None)
    if layer is None:
        raise UsageError(
            "nothing to measure:", stack.name, "every layer has a measurement", "--layer NAME measures one again"
        )
    return layer


def _like(stages: list[Stage], options: Options) -> Options:
    """As the stages before it were measured: what differs could not be compared."""
    if not stages:
        return options
    first = stages[0]
    plan = first.runs[0].plan
    update = {
        "only": tuple(one.workload for one in first.cells.values()), "rounds": min(plan.rounds, 100),
        "ramp_s": plan.ramp_s, "runtime_s": plan.runtime_s or options.runtime_s, "interval_s": None,
        # A run says what was driven of a file; in front of that is its mark.
        "size": options.size or (plan.file_size + HEAD if plan.file_size else None),
    }  # fmt: skip
    return options.model_copy(update=update)


class _Sites:
    """The layer and the anchor, each with targets of its own."""

    def __init__(self, by_layer: dict[str, Targets]) -> None:
        self.by_layer = by_layer
        self.allow_write = False

    def pieces(self, layer: str) -> tuple[Piece, ...]:
        return self.by_layer[layer].pieces(layer)

    def check_still_ours(self, layer: str) -> None:
        self.by_layer[layer].check_still_ours(layer)

    def cpus(self, layer: str) -> tuple[int, ...]:
        return self.by_layer[layer].cpus(layer)

    def gone(self) -> str | None:
        """What they say together."""
        return "; ".join(said for one in self.by_layer.values() if (said := one.gone())) or None


def _measure(stack: Stack, layer: Layer, options: Options, repeated: Workload | None, emit: Emit) -> None:
    """``repeated``: what the anchor was measured with in the stages before."""
    workloads = chosen_workloads(DIAGNOSE, options)
    mine = {w.key for w in workloads}
    anchored = repeated or min((w for w in workloads if not w.rw.writes), key=lambda w: w.key, default=None)
    if stack.anchor is not None and anchored is not None and anchored.key not in mine:
        workloads = (*workloads, anchored)
    alone = Layer(name=layer.name, endpoint=layer.endpoint, node=layer.node, expect=layer.expect)
    layers = [alone.with_password(layer.password)]
    if stack.anchor is not None:
        layers.append(Layer(name=ANCHOR, endpoint=stack.anchor))
    one = stack.model_copy(update={"layers": tuple(layers), "anchor": None})
    ends = {x.name: one.endpoint_of(x) for x in layers}
    engine = engine_for(options.engine, list(ends.values()), options.placement)
    run_id = new_id()
    with ExitStack() as ours:
        ours.enter_context(held(run_id))
        store = ours.enter_context(opened(options.store))
        stop = ours.enter_context(stop_on_signals())
        emit = ours.enter_context(recorded(run_id, one, emit))
        emit(Progress(phase=Phase.PREPARE, message=f"preparing {layer.name}"))
        sites = _Sites({name: ours.enter_context(_opened(name, end, workloads, options)) for name, end in ends.items()})
        refused = refused_cells(engine, workloads, {name: sites.pieces(name)[0] for name in ends})
        size = sites.by_layer[layer.name].size
        fixed = options.model_copy(update={"screen": False, "confirm": False})
        plan = plan_of(one, workloads, fixed, run_id, size, refused)
        # One cell of the anchor shows how far stages are apart; all of them would take as long as the stage.
        wanted = {(layer.name, key) for key in mine} | ({(ANCHOR, anchored.key)} if anchored is not None else set())
        kept = tuple(c for c in plan.cells if (c.layer, c.workload.key) in wanted)
        keys = {c.key for c in kept}
        plan = plan.model_copy(update={"cells": kept, "steps": tuple(s for s in plan.steps if s.cell in keys)})
        scopes = {name: sampling_scope_of_endpoints([end]) for name, end in ends.items()}
        runner = Runner(sites, engine, store, scopes.__getitem__, emit, stop)
        found = measure_generator(engine, workloads, QUICK_GENERATOR, options.placement)
        run = run_of(plan, engine.identity(), options.label, stage_of=layer.name, generator=found)
        runner.begin(run, anew=True)
        _carried_out(runner, store)


def _opened(
    name: str, endpoint: Endpoint, workloads: Sequence[Workload], options: Options
) -> AbstractContextManager[Targets]:
    """A device and the anchor are only read."""
    reads = next((w for w in workloads if not w.rw.writes), workloads[0])
    writes = next((w for w in workloads if w.rw.writes), workloads[0])
    most = reads if name == ANCHOR or endpoint.kind is EndpointKind.BLOCK else writes
    keep = options.keep and endpoint.kind is EndpointKind.FILE
    return opened_together([endpoint], most, options.size, keep, None, asked=None)


def _carried_out(runner: Runner, store: Store) -> None:
    from strata.analyse import analyse
    from strata.diagnose import diagnose

    run = runner.running()
    plan = run.plan
    timing = Timing(ramp_s=plan.ramp_s, runtime_s=plan.runtime_s, interval_s=plan.interval_s)

    def measure(step: Step, cell: Cell) -> CellResult:
        told = Progress(
            phase=Phase.MEASURE, layer=cell.layer, label=cell.workload.label, round=step.round + 1, rounds=plan.rounds,
            step=step.order + 1, steps=len(plan.steps),
        )  # fmt: skip

        def hear(interval: Interval, now: Glance) -> None:
            runner.emit(told.model_copy(update={**rates(interval), **times(interval), "now": now}))

        return runner.measure_cell(step, cell, runner.ready(step, cell, timing, plan.placement), hear)

    status = RunStatus.FAILED
    try:
        status = runner.carry_out(RunMachine(plan), measure)
    finally:
        run = runner.keep(status=status, message=runner.say(runner.site.gone()))
    if status is RunStatus.STOPPED:
        raise Stopped("the stage was not completed", hint="measure it again; an incomplete stage is not used")
    results = runner.cells()
    if status is RunStatus.FAILED or not any(r.result for r in results):
        why = next((r.error for r in results if r.error), "no I/O completed")
        raise RunFailed("the stage failed:", run.id, why, "measure it again once the cause is fixed")
    found = analyse(plan, results, generator=run.generator)
    store.save_outcome(run.id, found, diagnose(plan.stack, found))
