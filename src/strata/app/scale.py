"""``strata scale``: a sweep over one axis, going on with one, and reading it again."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from strata.app.kept import opened, scale_result
from strata.app.live import recorded
from strata.app.matrix import MatrixSite, ends_of, ground_of, plan_site
from strata.app.options import Options
from strata.app.place import Place
from strata.app.plan import refused_cells
from strata.app.runner import (
    MEASURING_GENERATOR,
    Emit,
    Runner,
    check_layers,
    check_nodes,
    check_resumable,
    rates,
    run_of,
)
from strata.app.sampling_scope import SamplingScope, sampling_scope_of, sampling_scope_of_endpoints
from strata.app.scale_plan import at_value, cell_at, check_base, over_targets, scale_plan
from strata.app.scale_points import Maker, placed_at
from strata.app.signals import stop_on_signals
from strata.app.stacks import read_stack
from strata.app.where import is_endpoint
from strata.engine import Engine, Timing, engine_for
from strata.errors import ClientsLost, RunFailed, Stopped, UsageError, until_resumed
from strata.host.runlock import held
from strata.model.axis import Axis, Made
from strata.model.endpoint import Endpoint
from strata.model.plan import Cell, Plan, Step
from strata.model.progress import Glance, Phase, Progress
from strata.model.result import CellResult, Interval
from strata.model.run import Run, RunStatus
from strata.model.scale import ScaleAsk, ScaleResult
from strata.model.stack import Stack
from strata.model.workload import ClosedLoop, Workload
from strata.plan.ident import new_id
from strata.run.scale import Sweep


def measure_scale(
    where: Sequence[str], ask: ScaleAsk, base: Workload, options: Options, emit: Emit, destructive: str | None = None,
    *, maker: Maker | None = None, engine: Engine | None = None,
) -> ScaleResult:  # fmt: skip
    """Measure it. Every point is in the store before the next begins. ``where``: several are endpoints of one kind that
    are driven together. ``maker`` makes the points of an axis for which Strata cannot; ``engine`` has the nodes on
    which clients run. Those that drive the layers of a stack are named by its file or by the options.

    Raises `Stopped` with how to go on; and what the safety gate raises.
    """
    base = over_targets(base, ask.axis, len(where))
    check_base(base, ask)
    run_id = new_id()
    stack, size = plan_site(where, options, run_id)
    _check_driven(stack, ask, where)
    check_made(ask, where, maker, engine)
    if len(where) > 1:
        ask = ask.model_copy(update={"targets": tuple(where)})
    # What cannot be planned is refused before anything is opened or made.
    scale_plan(stack, ask, base, options, run_id, size, writable=destructive is not None)
    return _carry_out(where, ask, base, None, options, emit, run_id, destructive, maker, engine)


def check_made(ask: ScaleAsk, where: Sequence[str], maker: Maker | None, engine: Engine | None) -> None:
    """Raises `UsageError` where nobody is there who makes the points, or somebody too many."""
    axis, needs = ask.axis, f"cannot scale over {ask.axis.value} at"
    if axis.commanded and maker is None:
        hint = "--make 'COMMAND {}' --now N: a command that sets the number, and the present number"
        raise UsageError(needs, where[0], "Strata cannot set its values", hint)
    if maker is not None and not axis.commanded:
        made = ", ".join(a.value for a in Axis if a.commanded)
        raise UsageError(
            "cannot use --make with", f"--over {axis.value}", "Strata sets its values itself", f"use it for {made}"
        )
    if axis.made is Made.NODES and engine is None:
        raise UsageError(needs, where[0], "no scheduler is named", "--nodes tls://host:8786")
    if engine is not None and axis not in (Axis.NODES, Axis.CLIENTS):
        raise UsageError("cannot use --nodes with", f"--over {axis.value}", "it is for nodes and clients")


def by_nodes(where: str, axis: Axis, nodes: str | None) -> bool:
    """Whether the layers are driven from their own nodes: those of a stack file that names a scheduler, or is given
    one that is not what grows. Raises as reading the file does."""
    if is_endpoint(where) or Path(where).suffix != ".toml":
        return False
    return (nodes is not None and axis is not Axis.NODES) or read_stack(Path(where)).scheduler is not None


def _check_driven(stack: Stack, ask: ScaleAsk, where: Sequence[str]) -> None:
    """Raises `UsageError` for an axis that is not there where each layer has its own node."""
    if stack.scheduler is not None and ask.axis.made is Made.NODES:
        why, hint = "each of its layers has one node", "name the endpoint of one layer; or --over clients"
        raise UsageError(f"cannot scale over {ask.axis.value} at", where[0], why, hint)


def resume_scale(
    run: Run, options: Options, emit: Emit, destructive: str | None = None, *, maker: Maker | None = None,
    engine: Engine | None = None,
) -> ScaleResult:  # fmt: skip
    """Go on with a sweep that was interrupted, with what is left of its budget."""
    ask = run.plan.scale
    assert ask is not None, "not a sweep"
    first = run.plan.stack.layers[0]
    alone = len(run.plan.stack.layers) == 1 and run.data is None
    options = options.model_copy(update={"engine": run.environment.engine["name"], "placement": run.plan.placement})
    if run.data is None and not alone:
        raise RunFailed("cannot resume", run.id, "its data is not recorded", "start a new run")
    where = ask.targets or (first.endpoint if alone else str(run.data.path.rpartition("/")[0] if run.data else ""),)
    check_made(ask, where, maker, engine)
    base = next(c.workload for c in run.plan.cells if isinstance(c.workload.arrival, ClosedLoop))
    return _carry_out(where, ask, base, run, options, emit, run.id, destructive, maker, engine)


def scale_again(run_id: str | None, store: str | None, what_if: tuple[str, ...]) -> ScaleResult:
    """A sweep of the store, with other questions. Raises `UsageError` where the run is none."""
    with opened(store) as kept:
        run = kept.load_run(run_id) if run_id else kept.latest()
        if run is None or run.plan.scale is None:
            hint = "strata scale ENDPOINT --over iodepth measures one"
            held = "the store" if run is None else run.id
            raise UsageError("cannot read a sweep from", held, "it has none", hint)
        return scale_result(run, kept.cells(run.id), what_if or None)


def _carry_out(
    where: Sequence[str], ask: ScaleAsk, base: Workload, resumed: Run | None, options: Options, emit: Emit, run_id: str,
    destructive: str | None, maker: Maker | None, asked: Engine | None,
) -> ScaleResult:  # fmt: skip
    ends = [Endpoint.parse(one) for one in where] if is_endpoint(where[0]) else []
    reached = ends or ends_of(where[0], options, resumed)
    engine = asked or engine_for(options.engine, reached, options.placement)
    identity = engine.identity()
    check_resumable(resumed, identity)
    check_nodes(resumed, identity)
    workloads = tuple(at_value(base, ask.axis, v) for v in ask.values)
    with (
        stop_on_signals() as stop,
        held(run_id),
        opened(options.store) as store,
        ExitStack() as following,
        ground_of(where, options, workloads, run_id, emit, destructive=destructive, resumed=resumed) as here,
    ):
        check_layers(resumed, here.dropped)
        pieces = {x.name: here.site.pieces(x.name)[0] for x in here.stack.layers}
        emit = following.enter_context(recorded(run_id, here.stack, emit, survey=here.survey))
        _check_cpus(here, ask)
        runner = Runner(here.site, engine, store, _sampling(here, ends), emit, stop, here.driver)
        plan = resumed.plan if resumed else None
        if plan is None:
            plan = scale_plan(
                here.stack, ask, base, options, run_id, here.size, writable=destructive is not None
            )  # fmt: skip
            plan = _without(plan, refused_cells(engine, workloads, pieces))
        emit(MEASURING_GENERATOR)
        generator = resumed.generator if resumed else here.ceilings(engine, plan.workloads, plan.placement)
        run = run_of(
            plan, identity, options.label, resumed, survey=here.survey, data=here.data, mark=here.mark,
            generator=generator, remotes=here.remotes,
            message=here.said,
        )  # fmt: skip
        runner.begin(run, anew=resumed is None)
        return _measured(runner, base, ask, maker)


def _check_cpus(here: MatrixSite, ask: ScaleAsk) -> None:
    """Raises `UsageError` where the process that drives a layer may use fewer CPUs than there are to be."""
    for layer in here.stack.layers if ask.axis is Axis.CORES else ():
        there, most = len(here.site.cpus(layer.name)), max(ask.values)
        if there < most:
            why = f"its load runs on {layer.node or 'this machine'} and may use {there} CPUs there"
            raise UsageError(f"cannot scale over {most} cores at", layer.name, why, "--points 1,2")


def _sampling(here: MatrixSite, ends: list[Endpoint]) -> Callable[[str], SamplingScope]:
    if ends:
        scope = sampling_scope_of_endpoints(ends)
        return lambda _: scope
    return partial(_of_layer, here.stack, here)


def _of_layer(stack: Stack, here: MatrixSite, layer: str) -> SamplingScope:
    found = sampling_scope_of(stack, {x.name: here.site.pieces(x.name)[0].endpoint for x in stack.layers}, layer)
    # A server of Strata's own tells the time of each request, as a histogram.
    stats = here.site.stats(layer) if isinstance(here.site, Place) else None
    return found if stats is None else found.served_by(stats)


def _without(plan: Plan, refused: dict[str, str]) -> Plan:
    """With the cells left out that the engine refuses."""
    cells = tuple(c.model_copy(update={"skip": c.skip or refused.get(c.key)}) for c in plan.cells)
    left = {c.key for c in cells if c.skip is None}
    return plan.model_copy(update={"cells": cells, "steps": tuple(s for s in plan.steps if s.cell in left)})


def _measured(runner: Runner, base: Workload, ask: ScaleAsk, maker: Maker | None) -> ScaleResult:
    run = runner.running()
    sweep = Sweep(run.plan, ask, partial(cell_at, base, ask.axis), runner.cells(), time.monotonic)

    def measure(step: Step, cell: Cell) -> CellResult:
        if sweep.plan is not runner.running().plan:
            # A point that was added is in the plan before it is measured.
            runner.keep(plan=sweep.plan)
        if maker is not None and cell.at is not None and maker.at != cell.at[1]:
            runner.emit(Progress(phase=Phase.PREPARE, message=f"setting {ask.axis.value} to {cell.at[1]}"))
            begun = time.monotonic()
            maker.make(cell.at[1])
            sweep.changed(time.monotonic() - begun)

        def hear(interval: Interval, _now: Glance) -> None:
            runner.emit(sweep.told.model_copy(update=rates(interval)))

        timing = Timing(ramp_s=sweep.ramp_s(cell), runtime_s=sweep.runtime_s(cell), interval_s=run.plan.interval_s)
        placed = placed_at(cell, run.plan.placement, runner.site.cpus(cell.layer))
        return runner.measure_cell(step, cell, runner.ready(step, cell, timing, placed), hear)

    status, said = RunStatus.FAILED, None
    try:
        status = runner.carry_out(sweep, measure)
        said = "; ".join(filter(None, (runner.unkept, runner.site.gone()))) or None
    finally:
        left = None if maker is None else maker.put_back()
        said = "; ".join(filter(None, (said, left))) or None
        run = runner.keep(status=status, scale_end=sweep.ended, message=runner.say(said))
    again = "" if maker is None else f" --make {shlex.quote(maker.command)} --now {maker.now}"
    if sweep.lost is not None:
        hint = f"{until_resumed(sweep.there)}: strata scale --resume {run.id}{again}"
        raise ClientsLost("cannot continue at", run.plan.stack.layers[0].endpoint, sweep.lost, hint)
    if status is RunStatus.STOPPED:
        raise Stopped("finished points are kept", hint=f"strata scale --resume {run.id}{again}")
    results = runner.cells()
    done = scale_result(run, results)
    if not done.points:
        why = next((r.error for r in results if r.error), None) or "no I/O completed"
        runner.keep(status=RunStatus.FAILED, message=why)
        raise RunFailed("nothing was measured at", done.where, why)
    return done
