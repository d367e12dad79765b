"""A matrix in a budget of time: what it would take, having it measured, going on with one, and reading it again."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field

from strata import units
from strata.app.circumstances import told_by
from strata.app.diagnose import DiagnosisInput, data_size, opened_source, size_of, source_again, source_of, stack_asked
from strata.app.driver import Driver
from strata.app.earlier import earlier_noise, earlier_noise_of, noise_place_of
from strata.app.kept import matrix_result, opened
from strata.app.live import recorded
from strata.app.matrix_plan import MatrixWords, asked_of, machine_of, matrix_plan
from strata.app.options import Options
from strata.app.place import Place, another_file
from strata.app.plan import refused_cells
from strata.app.runner import (
    MEASURING_GENERATOR,
    QUICK_GENERATOR,
    Emit,
    Runner,
    Site,
    check_layers,
    check_nodes,
    check_resumable,
    rates,
    run_of,
)
from strata.app.safety_gate import endpoints_of, opened_together
from strata.app.sampling_scope import devices_reached
from strata.app.signals import stop_on_signals
from strata.app.stacks import stack_of
from strata.app.where import is_endpoint
from strata.discover.survey import survey
from strata.engine import Engine, Timing, engine_for, measure_generator
from strata.errors import ClientsLost, InconclusiveError, RunFailed, Stopped, UsageError, until_resumed
from strata.host.runlock import held
from strata.model.analysis import Generator, Remote
from strata.model.base import Value
from strata.model.endpoint import Endpoint, EndpointKind
from strata.model.matrix import BudgetPrediction, Known, MatrixEnd, MatrixResult
from strata.model.placement import Placement
from strata.model.plan import Cell, Plan, Step
from strata.model.progress import Glance, Phase, Progress
from strata.model.result import CellResult, Interval
from strata.model.run import DataSet, Run, RunStatus
from strata.model.stack import Stack
from strata.model.survey import Survey
from strata.model.workload import Workload
from strata.model.workload_options import NEW_FILE_BYTES
from strata.plan.ident import new_id

if TYPE_CHECKING:
    from strata.run.matrix import Matrix
    from strata.store import Store

BIN_S = 0.05


@dataclass(frozen=True)
class MatrixSite:
    """What a runner drives, and what is known of it."""

    site: Site
    stack: Stack
    survey: Survey | None
    size: int
    data: DataSet | None = None
    remotes: tuple[Remote, ...] = ()
    dropped: Mapping[str, str] = field(default_factory=dict)
    mark: str | None = None
    """The uuid in the mark of the one file of an endpoint."""
    driver: Driver | None = None
    """What drives the layers where this process does not: their nodes."""

    @property
    def said(self) -> str | None:
        """What was left out, and who drives it, in words."""
        left_out = (f"{layer} left out: {why}" for layer, why in self.dropped.items())
        return "; ".join((*left_out, *told_by(self.stack))) or None

    def ceilings(self, engine: Engine, workloads: tuple[Workload, ...], placement: Placement | None) -> Generator:
        """The load generator alone, where it is that drives the layers."""
        if self.driver is not None:
            assert isinstance(self.site, Place)
            return self.site.generator(engine, workloads, QUICK_GENERATOR, placement)[0]
        return measure_generator(engine, workloads, QUICK_GENERATOR, placement)


def plan_site(where: Sequence[str], options: Options, run_id: str) -> tuple[Stack, int]:
    """The stack, and the bytes of a file that would be made (0: none); opens nothing. Several are endpoints.

    Of a stack that is driven from its nodes the bytes are a guess: the node of its file says how many once it is
    asked.
    """
    if is_endpoint(where[0]):
        endpoints = endpoints_of(where)
        new = [e for e in endpoints if e.kind is EndpointKind.FILE and not Path(e.path or "").exists()]
        return stack_of(endpoints), len(new) * (options.size or NEW_FILE_BYTES)
    path = Path(where[0])
    if path.suffix == ".toml" and (stack := stack_asked(path, options)).scheduler is not None:
        return stack, options.size or NEW_FILE_BYTES
    source = source_of(path, options, run_id)
    return source.stack, data_size(source, options)[0]


@contextmanager
def ground_of(
    where: Sequence[str], options: Options, workloads: tuple[Workload, ...], run_id: str, emit: Emit, *,
    destructive: str | None, resumed: Run | None,
) -> Iterator[MatrixSite]:  # fmt: skip
    """Made for as long as the block lasts. Raises as the safety gate does."""
    if is_endpoint(where[0]):
        yield from _endpoints(endpoints_of(where), options, workloads, emit, destructive, resumed)
        return
    emit(Progress(phase=Phase.SURVEY, message=f"examining what is below {where[0]}"))
    with _source(where[0], options, run_id, resumed) as source:
        size, keep = size_of(source, options, resumed)
        with closing(source.place(workloads)) as place:
            left = place.prepare(size, source.survey.file_system.kind, emit, keep=keep, resumed=resumed)
            yield MatrixSite(
                site=place, stack=left, survey=source.survey, data=place.data, remotes=place.remotes, size=size,
                dropped=dict(place.dropped), driver=source.driver(place),
            )  # fmt: skip


@contextmanager
def _source(where: str, options: Options, run_id: str, resumed: Run | None) -> Iterator[DiagnosisInput]:
    """The nodes of a stack that is driven from them are asked until the block ends."""
    if resumed is not None and resumed.plan.stack.scheduler is None:
        yield source_again(resumed, options)
        return
    with opened_source(resumed.plan.stack if resumed is not None else Path(where), options, run_id) as source:
        yield source


def _endpoints(
    endpoints: Sequence[Endpoint], options: Options, workloads: tuple[Workload, ...], emit: Emit,
    destructive: str | None, resumed: Run | None,
) -> Iterator[MatrixSite]:  # fmt: skip
    # The safety gate asks what is the most that will be done.
    most = next((w for w in workloads if w.rw.writes), workloads[0])
    endpoint = endpoints[0]
    size = resumed.plan.file_size // len(endpoints) or None if resumed is not None else options.size
    if endpoint.kind is EndpointKind.FILE:
        paths = ", ".join(str(e.path) for e in endpoints)
        emit(Progress(phase=Phase.PREPARE, message=f"preparing {paths}"))
    there = endpoint.kind is EndpointKind.FILE and Path(endpoint.path or "").exists()
    asked = None if resumed is not None else size
    with opened_together(endpoints, most, size, options.keep, destructive, asked=asked) as site:
        target = site.targets[0]
        if there and resumed is not None and resumed.mark not in (None, target.mark):
            raise another_file(endpoint.path)
        platform = None
        if endpoint.kind is EndpointKind.FILE and endpoint.path:
            platform = survey(Path(endpoint.path).parent, options.load_seconds)
        size = site.size + sum(units.MIB for t in site.targets if t.mark is not None)
        yield MatrixSite(site=site, stack=stack_of(endpoints), survey=platform, size=size, mark=target.mark)


class MatrixPlan(Value):
    """A matrix before it is measured: cells, time, bytes and the error to be expected."""

    schema_version: str = Field(default="strata.matrix-plan/1", alias="schema")
    plan: Plan
    prediction: BudgetPrediction


def plan_matrix(where: str, words: MatrixWords, options: Options) -> MatrixPlan:
    """Cells, time, every byte it could write, and the error that the noise of earlier runs, or an assumed one, allows.

    Opens and makes nothing. Raises `UsageError` where the budget is too short for a visit of every cell.
    """
    _calm_numbers()
    run_id = new_id()
    if is_endpoint(where):
        stack, size = plan_site([where], options, run_id)
    else:
        with opened_source(Path(where), options, run_id) as source:
            stack, size = source.stack, data_size(source, options)[0]
    plan = matrix_plan(stack, words, options, run_id, size, {})
    earlier = earlier_noise_of(stack, not words.buffered, options.store)
    machine = machine_of(plan, earlier, ())
    known = Known.ASSUMED if earlier is None else Known.EARLIER
    return MatrixPlan(plan=plan, prediction=machine.predict_budget(known, machine.noise))


def measure_matrix(
    where: str, words: MatrixWords, options: Options, emit: Emit, nodes: str | None = None
) -> MatrixResult:
    """Measure it. Every visit is in the store before the next begins. ``nodes``: the scheduler on whose nodes the
    clients of an endpoint run, or which drive the layers of a stack.

    Raises `InconclusiveError` where ``until`` is asked and the noise floor, measured first, forbids it; `Stopped`
    with how to go on; and what the safety gate raises.
    """
    run_id = new_id()
    _calm_numbers()
    if is_endpoint(where):
        # What cannot be planned is refused before anything is opened or made.
        stack, size = plan_site([where], options, run_id)
        matrix_plan(stack, words, options, run_id, size, {})
    else:
        options, nodes = options.model_copy(update={"nodes": nodes}), None
    return _carry_out(where, words, options, emit, run_id, words.destructive, nodes)


def resume_matrix(
    run: Run, options: Options, emit: Emit, destructive: str | None = None, nodes: str | None = None
) -> MatrixResult:
    """Go on with a matrix that was interrupted, with what is left of its budget.

    ``nodes``: the scheduler, where nodes were used and it is another one now.
    """
    first = run.plan.stack.layers[0]
    alone = len(run.plan.stack.layers) == 1 and run.data is None
    options = options.model_copy(update={"engine": run.environment.engine["name"], "placement": run.plan.placement})
    where = first.endpoint if alone else str(Path(run.data.path).parent if run.data else Path())
    before = run.environment.engine.get("scheduler")
    if run.plan.stack.scheduler is not None:
        return _carry_out(
            where, run, options.model_copy(update={"nodes": nodes}), emit, run.id, destructive, None
        )  # fmt: skip
    if nodes is not None and before is None:
        raise UsageError("cannot resume on nodes:", run.id, "it was measured on this machine", "leave --nodes out")
    return _carry_out(where, run, options, emit, run.id, destructive, nodes or before)


def _carry_out(
    where: str, asked: MatrixWords | Run, options: Options, emit: Emit, run_id: str, destructive: str | None,
    nodes: str | None,
) -> MatrixResult:  # fmt: skip
    """``asked``: the words of a new matrix, or the run that is resumed."""
    _calm_numbers()
    resumed = asked if isinstance(asked, Run) else None
    grid_workloads = asked.plan.workloads if isinstance(asked, Run) else asked_of(asked, options)[1]
    with (
        _engine(options, ends_of(where, options, resumed), nodes) as engine,
        stop_on_signals() as stop,
        held(run_id),
        opened(options.store) as store,
        ExitStack() as following,
        ground_of([where], options, grid_workloads, run_id, emit, destructive=destructive, resumed=resumed) as here,
    ):
        identity = engine.identity()
        check_resumable(resumed, identity)
        check_nodes(resumed, identity)
        check_layers(resumed, here.dropped)
        stack, site = here.stack, here.site
        ask = resumed.plan.matrix if resumed else None
        goal = asked.until if isinstance(asked, MatrixWords) else ask.target if ask else None
        emit = following.enter_context(recorded(run_id, stack, emit, goal, here.survey))
        pieces = {x.name: site.pieces(x.name)[0] for x in stack.layers}
        # A node reads the counters of its own layers.
        watches = {} if here.driver else devices_reached(stack, {name: p.endpoint for name, p in pieces.items()})
        runner = Runner(site, engine, store, watches.__getitem__, emit, stop, here.driver)
        if isinstance(asked, Run):
            plan = asked.plan
        else:
            refused = refused_cells(engine, grid_workloads, pieces)
            plan = matrix_plan(stack, asked, options, run_id, here.size, refused)
        emit(MEASURING_GENERATOR)
        place = noise_place_of(stack, plan.workloads[0].direct)
        run = run_of(
            plan,
            identity,
            options.label,
            resumed,
            survey=here.survey,
            data=here.data,
            mark=here.mark,
            generator=resumed.generator if resumed else _ceilings(engine, plan, here),
            remotes=here.remotes,
            message=here.said,
            earlier=resumed.earlier if resumed else earlier_noise(store, place, run_id),
            pooled_at=place,
        )
        runner.begin(run, anew=resumed is None)
        return _measured(runner, here.size, store)


def ends_of(where: str, options: Options, resumed: Run | None) -> list[Endpoint]:
    """What the engine has to reach, where it is not said which one: the layers of a stack file, or the endpoint."""
    if is_endpoint(where):
        return [Endpoint.parse(where)]
    if resumed is not None or Path(where).suffix != ".toml":
        return []
    stack = stack_asked(Path(where), options)
    return [stack.endpoint_of(layer) for layer in stack.layers]


@contextmanager
def _engine(options: Options, ends: list[Endpoint], nodes: str | None) -> Iterator[Engine]:
    if nodes is None:
        yield engine_for(options.engine, ends, options.placement)
        return
    from strata.app.clients import engine_of_nodes

    with engine_of_nodes(nodes, options.engine) as engine:
        yield engine


def _measured(runner: Runner, size: int, store: Store) -> MatrixResult:
    from strata.analyse.pooled import pooled
    from strata.run.visits import Visits

    run = runner.running()
    results = runner.cells()
    machine = machine_of(run.plan, run.earlier, results)
    visits = Visits(run.plan, machine, results, size, time.monotonic)

    def measure(step: Step, cell: Cell) -> CellResult:
        def hear(interval: Interval, now: Glance) -> None:
            told = rates(interval) | (
                {"now": now.model_copy(update={"clients": interval.clients})} if interval.clients else {}
            )
            runner.emit(visits.told.model_copy(update=told))

        runtime_s = max(1, round(visits.seconds / BIN_S)) * BIN_S
        timing = Timing(ramp_s=run.plan.ramp_s, runtime_s=runtime_s, interval_s=BIN_S)
        return runner.measure_cell(step, cell, runner.ready(step, cell, timing, run.plan.placement), hear)

    status, said = RunStatus.FAILED, None
    try:
        status = runner.carry_out(visits, measure)
        said = "; ".join(filter(None, (runner.unkept, runner.site.gone()))) or None
    except InconclusiveError as e:
        said = e.headline
        raise
    finally:
        # Of this run alone: what came from earlier ones must not be pooled with them once more.
        own = pooled(machine.visits)
        run = runner.keep(status=status, pooled=own, matrix_end=_end(machine, status), message=runner.say(said))
    if visits.lost is not None:
        hint = f"{until_resumed(visits.there)}: strata measure --resume {run.id}"
        raise ClientsLost("cannot continue at", run.plan.stack.layers[0].endpoint, visits.lost, hint)
    if status is RunStatus.STOPPED:
        raise Stopped("finished cells are kept", hint=f"strata measure --resume {run.id}")
    done = matrix_result(run, runner.cells())
    if all(c.iops is None for c in done.cells):
        why = next((c.why for c in done.cells if c.why), "no I/O completed")
        runner.keep(status=RunStatus.FAILED, message=why)
        raise RunFailed("nothing was measured at", done.where, why)
    store.save_matrix(done)
    return done


def _end(machine: Matrix, status: RunStatus) -> MatrixEnd:
    return MatrixEnd(
        predictions=tuple(machine.predictions),
        seconds=machine.spent_s,
        start_s=machine.start_s,
        ended=(machine.ended or "budget") if status is RunStatus.DONE else status.value,
        held_out=machine.held_out,
    )


def _ceilings(engine: Engine, plan: Plan, here: MatrixSite) -> Generator:
    """The smallest size of each depth and pattern: there the generator counts most, and no larger one is faster."""
    small = min(w.bs for w in plan.workloads)
    return here.ceilings(engine, tuple(w for w in plan.workloads if w.bs == small), plan.placement)


def _calm_numbers() -> None:
    """Before the numerical libraries are loaded: their worker threads would spin beside what is measured."""
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
