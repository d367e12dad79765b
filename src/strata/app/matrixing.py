"""A matrix in a budget of time: what it would take, having it measured, going on with one, and reading it again."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field

from strata import units
from strata.app.circumstances import environment, other_engine
from strata.app.earlier import earlier_noise, noise_place
from strata.app.matrix_plan import MatrixWords, asked_of, machine_of, matrix_plan, words_of
from strata.app.matrix_result import matrix_result
from strata.app.naming import is_endpoint
from strata.app.options import Options
from strata.app.planning import refused_cells
from strata.app.session import Emit
from strata.app.stopping import stop_on_signals
from strata.engine import Engine, Timing, engine_for, measure_generator
from strata.errors import InconclusiveError, RunFailed, Stopped
from strata.host.clock import now_unix_ns
from strata.host.runlock import held
from strata.model.analysis import Generator
from strata.model.base import Value
from strata.model.endpoint import Endpoint
from strata.model.matrix import Known, MatrixEnd, MatrixResult, Prediction
from strata.model.noise import PooledNoise
from strata.model.plan import Plan
from strata.model.progress import Phase, Progress
from strata.model.run import Run, RunStatus
from strata.model.stack import Stack
from strata.plan.ident import new_id

if TYPE_CHECKING:
    from strata.app.matrix_site import Site
    from strata.run.matrix import Matrix
    from strata.store import Store

GENERATOR_TIMING = Timing(ramp_s=0.02, runtime_s=0.05, interval_s=0.05)


class MatrixPlan(Value):
    """A matrix before it is measured: cells, time, bytes and the error to be expected."""

    schema_version: str = Field(default="strata.matrix-plan/1", alias="schema")
    plan: Plan
    prediction: Prediction


def plan_matrix(where: str, words: MatrixWords, options: Options) -> MatrixPlan:
    """Cells, time, every byte it could write, and the error that the noise of earlier runs, or an assumed one, allows.

    Opens and makes nothing. Raises `UsageError` where the budget is too short for a visit of every cell.
    """
    from strata.app.matrix_site import plan_site

    _calm_numbers()
    run_id = new_id()
    stack, size, _ = plan_site(where, options, run_id)
    plan = matrix_plan(stack, words, options, run_id, size, {})
    earlier = _earlier_here(stack, words, options)
    machine = machine_of(plan, words, earlier, ())
    known = Known.ASSUMED if earlier is None else Known.EARLIER
    return MatrixPlan(plan=plan, prediction=machine.foretell(known, machine.noise))


def measure_matrix(where: str, words: MatrixWords, options: Options, emit: Emit) -> MatrixResult:
    """Measure it. Every visit is in the store before the next begins.

    Raises `InconclusiveError` where ``until`` is asked and the noise floor, measured first, forbids it; `Stopped`
    with how to go on; and what the safety gate raises.
    """
    from strata.app.matrix_site import plan_site

    run_id = new_id()
    _calm_numbers()
    if is_endpoint(where):
        # What cannot be planned is refused before anything is opened or made.
        stack, size, _ = plan_site(where, options, run_id)
        matrix_plan(stack, words, options, run_id, size, {})
    return _carry_out(where, words, options, emit, run_id, None)


def resume_matrix(run: Run, options: Options, emit: Emit, destructive: str | None = None) -> MatrixResult:
    """Go on with a matrix that was interrupted, with what is left of its budget."""
    ask = run.plan.matrix
    assert ask is not None, "not a matrix"
    first = run.plan.stack.layers[0]
    alone = len(run.plan.stack.layers) == 1 and run.data is None
    w = run.plan.workloads[0]
    words = MatrixWords(
        matrix=ask.grid.name, budget_s=ask.budget_s, until=ask.target if ask.promised else None,
        ramp_s=run.plan.ramp_s, buffered=not w.direct, destructive=destructive,
    )  # fmt: skip
    options = options.model_copy(update={"engine": run.environment.engine["name"], "placement": run.plan.placement})
    where = first.endpoint if alone else str(Path(run.data.path).parent if run.data else Path())
    return _carry_out(where, words, options, emit, run.id, run)


def _carry_out(
    where: str, words: MatrixWords, options: Options, emit: Emit, run_id: str, resumed: Run | None
) -> MatrixResult:
    from strata.app.matrix_site import site_of

    _calm_numbers()
    grid_workloads = resumed.plan.workloads if resumed else asked_of(words, options)[1]
    ends = [Endpoint.parse(where)] if is_endpoint(where) else []
    engine = engine_for(options.engine, ends, options.placement)
    identity = engine.identity()
    if resumed and (other := other_engine(resumed.environment.engine, identity)):
        raise RunFailed("cannot resume", resumed.id, other, "start it anew")
    with (
        stop_on_signals() as stop,
        held(run_id),
        _opened(options.store) as store,
        site_of(where, options, grid_workloads, run_id, emit, destructive=words.destructive, resumed=resumed) as site,
    ):
        refused = refused_cells(engine, grid_workloads, {n: (p.endpoint, p.segments) for n, p in site.pieces.items()})
        plan = resumed.plan if resumed else matrix_plan(site.stack, words, options, run_id, site.size, refused)
        emit(Progress(phase=Phase.GENERATOR, message="measuring what the generator itself costs"))
        place = noise_place(site.stack.layers[0].target, plan.workloads[0].direct)
        earlier = resumed.earlier if resumed else earlier_noise(store, place, run_id)
        run = Run(
            id=run_id,
            created_unix_ns=resumed.created_unix_ns if resumed else now_unix_ns(),
            status=RunStatus.RUNNING,
            plan=plan,
            environment=environment(identity, resumed),
            survey=site.survey,
            data=site.data,
            mark=site.mark,
            generator=resumed.generator if resumed else _ceilings(engine, plan),
            remotes=site.remotes,
            message="; ".join(f"{layer} left out: {why}" for layer, why in site.dropped.items()) or None,
            earlier=earlier,
            pooled_at=place,
            label=resumed.label if resumed else options.label,
        )
        (store.update_run if resumed else store.create_run)(run)
        return _measured(run, site, engine, words, store, emit, stop)


def _measured(
    run: Run, site: Site, engine: Engine, words: MatrixWords, store: Store, emit: Emit, stop: Callable[[], bool]
) -> MatrixResult:
    from strata.app.matrix_loop import MatrixLoop

    results = store.cells(run.id)
    machine = machine_of(run.plan, words, run.earlier, results)
    loop = MatrixLoop(
        run.plan, site, engine, machine, store, emit, words.ramp_s, stop,
        order=max((r.order for r in results), default=-1) + 1,
        written=sum(r.result.write.bytes for r in results if r.result is not None),
    )  # fmt: skip
    status = RunStatus.FAILED
    try:
        going = loop.floor()
        if going:
            _refuse_what_the_floor_forbids(machine, run)
            going = loop.rest()
        status = RunStatus.DONE if going else RunStatus.STOPPED
        if gone := site.gone():
            run = run.model_copy(update={"message": "; ".join(m for m in (run.message, gone) if m)})
    except InconclusiveError as e:
        run = run.model_copy(update={"message": "; ".join(m for m in (run.message, e.headline) if m)})
        raise
    except KeyboardInterrupt:
        status = RunStatus.STOPPED
        raise
    finally:
        run = run.model_copy(
            update={"status": status, "pooled": _own_noise(machine), "matrix_end": _end(machine, status)}
        )
        store.update_run(run)
    if status is RunStatus.STOPPED:
        raise Stopped("finished cells are kept", hint=f"strata measure --resume {run.id}")
    done = matrix_result(run, store.cells(run.id))
    if all(c.iops is None for c in done.cells):
        why = next((c.why for c in done.cells if c.why), "no I/O completed")
        store.update_run(run.model_copy(update={"status": RunStatus.FAILED, "message": why}))
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


def _own_noise(machine: Matrix) -> PooledNoise | None:
    """Of this run alone: what came from earlier ones must not be pooled with them once more."""
    from strata.analyse.pooled import pooled

    return pooled(machine.visits)


def _refuse_what_the_floor_forbids(machine: Matrix, run: Run) -> None:
    ask = run.plan.matrix
    if ask is None or not ask.promised:
        return
    told = machine.foretell(Known.FLOOR, machine.noise)
    # Only what even the lower end of the range forbids is refused: a handful of cells does not know more.
    needed = told.seconds_low
    if needed is not None and needed <= ask.budget_s:
        return
    asked, between = units.percent(ask.target, 2), units.percent(told.noise.between, 2)
    if needed is None:
        why = f"equal starts differ by {between} here, which no longer time mends"
        hint = f"ask for less: --until {units.percent(_reachable(told), 1).replace(' ', '')}"
    else:
        takes, has = (units.duration(s * units.NS_PER_S) for s in (needed, ask.budget_s))
        why = f"with this noise it takes {takes} or more, and the budget is {has}"
        hint = f"--budget {max(1, math.ceil(needed / 60))}m, or leave --until out for what the budget brings"
    raise InconclusiveError(f"cannot promise ±{asked} in every cell at", run.plan.stack.name, why, hint)


def _reachable(told: Prediction) -> float:
    return max(told.half_width, 2.2 * told.noise.between / 4.9)


def _ceilings(engine: Engine, plan: Plan) -> Generator:
    """The smallest size of each depth and pattern: there the generator counts most, and no larger one is faster."""
    small = min(w.bs for w in plan.workloads)
    smallest = [w for w in plan.workloads if w.bs == small]
    return measure_generator(engine, smallest, GENERATOR_TIMING, plan.placement)


def _earlier_here(stack: Stack, words: MatrixWords, options: Options) -> PooledNoise | None:
    from strata.app.earlier import earlier_noise_of

    return earlier_noise_of(stack.layers[0].target, not words.buffered, options.store)


def _calm_numbers() -> None:
    """Before the numerical libraries are loaded: their worker threads would spin beside what is measured."""
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")


def _opened(url: str | None) -> AbstractContextManager[Store]:
    from strata.store import open_store

    return open_store(url)


__all__ = [
    "MatrixPlan", "MatrixWords", "measure_matrix", "plan_matrix", "resume_matrix",
    "words_of",
]  # fmt: skip
