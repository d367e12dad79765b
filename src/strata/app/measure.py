"""One workload against one endpoint, checked against the same laws as a whole run, and kept like one: of one cell."""

from __future__ import annotations

import platform
import signal
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from pydantic import Field

from strata import units
from strata.app.live import recorded
from strata.app.precondition import budget_of, write_until_steady
from strata.app.runner import Emit, Runner, as_progress, run_of
from strata.app.safety_gate import endpoints_of, opened_together
from strata.app.sampling_scope import sampling_scope_of_endpoints
from strata.app.signals import stop_on_signals
from strata.app.stacks import stack_of
from strata.app.until import BIN_S, Precise, settled
from strata.engine import AUTO_ENGINE, Engine, Timing, engine_for, measure_generator
from strata.engine.port import Keeping, Request
from strata.errors import RunFailed, StrataError, UsageError
from strata.host.clock import now_unix_ns
from strata.model.analysis import Analysis, CellSummary, Check, Generator
from strata.model.base import Value
from strata.model.caching import check
from strata.model.clients import Clients, clients_of
from strata.model.course import Aim, Course
from strata.model.endpoint import CLUSTER, Endpoint, EndpointKind
from strata.model.noise import PooledNoise
from strata.model.place import identity
from strata.model.placement import Placement
from strata.model.plan import Cell, Plan, Step
from strata.model.precondition import Preconditioned
from strata.model.remembered import SeriesName
from strata.model.result import CellResult, EngineResult
from strata.model.run import Label, Report, Run, RunStatus
from strata.model.stack import Stack
from strata.model.survey import Survey
from strata.model.trace import TraceSummary
from strata.model.workload import Workload
from strata.plan.ident import new_id
from strata.plan.words import dealt, workload_from_words
from strata.run.execute import SingleStep
from strata.run.judge import fault

__all__ = ["OneResult", "dealt", "measure_endpoint", "timing_of", "workload_from_words"]


class OneResult(Value):
    """A single measurement with the generator's ceiling beside it (IOPS and ns per I/O at a null endpoint)."""

    schema_version: str = Field(default="strata.measure/1", alias="schema")
    endpoint: str
    workload: Workload
    workload_key: str = Field(default_factory=lambda told: told["workload"].key)
    """What other documents name it by; those of earlier versions lack it."""
    summary: CellSummary
    checks: tuple[Check, ...]
    result: EngineResult
    generator: Generator
    precondition: Preconditioned | None = None
    """What was written before, until the rate was steady."""
    course: Course | None = None
    """How it went over its time; None where no precision was asked."""
    earlier: PooledNoise | None = None
    """The noise of earlier runs of this host and device that its intervals rest on too; None without an aim."""
    run: str | None = None
    """Its id in the store."""
    unkept: str | None = None
    """Why it was not kept."""
    trouble: str | None = None
    """Why the run ended before its time; what was measured until then is in the result."""
    moved: str | None = None
    """What became of the file whose name does not lead to it any more: measured was the one that was checked. And
    which nodes kept no results on their disks."""
    stopped_by: int | None = None
    """The signal that stopped it."""
    clients: Clients | None = None
    """What several clients did together, and how alike they were."""
    report: Report | None = Field(default=None, exclude=True)
    """The same as a run, for a page."""


TIMING = Timing(ramp_s=0.5, runtime_s=5.0, interval_s=1.0)
"""Of one measurement, where it is not said; with an aim the intervals are `strata.app.until.BIN_S` long."""


def timing_of(
    ramp: str | float | None, runtime: str | float | None, interval: str | float | None, aim: Aim | None = None
) -> Timing:
    """Times in seconds, or as the user writes them (`2s`, `500ms`); None: as in `TIMING`. Raises `UsageError`."""
    usual = (TIMING.ramp_s, TIMING.runtime_s, TIMING.interval_s if aim is None else BIN_S)
    said = zip((ramp, runtime, interval), usual, strict=True)
    ramp_s, runtime_s, interval_s = (units.parse_duration_ns(u if t is None else t) / units.NS_PER_S for t, u in said)
    if runtime_s <= 0 or interval_s <= 0:
        asked = str(usual[1] if runtime is None else runtime)
        raise UsageError("cannot measure for", asked, "runtime and interval must be greater than 0")
    return Timing(ramp_s=ramp_s, runtime_s=runtime_s, interval_s=interval_s)


def measure_endpoint(
    uris: Sequence[str],
    workload: Workload,
    timing: Timing,
    *,
    size: int | None,
    keep: bool,
    destructive: str | None,
    placement: Placement | None = None,
    precondition: tuple[float | None, int | None] = (None, None),
    emit: Emit = lambda _: None,
    engine: str | Engine = AUTO_ENGINE,
    aim: Aim | None = None,
    trace: bool = False,
    store: str | None = None,
    label: Label | None = None,
    resumed: Run | None = None,
) -> OneResult:
    """Runs it with the ``engine`` (or that of this name) on one endpoint, or on several of one kind together.

    A file that does not exist is created, filled, and removed again unless kept.

    With an ``aim`` it ends when the aim is reached, at the latest after the aim's own maximum; the time in ``timing``
    does not count, and the summary's figures are those of the regime the measurement ended in. What earlier runs in the
    ``store`` showed of the noise of this host and device is its prior.

    If it came to its end it is kept in the ``store``, under its ``label``; with its error where clients were lost.
    Where clients keep their results, the run is in the store from its beginning (`strata.app.measure_begun`).

    ``resumed``: the run that this one goes on with. ``precondition``: seconds and bytes written first, at most.

    With ``trace``, a window of half a second with a block trace follows.

    SIGINT and SIGTERM during the measurement end it, and what was measured until then is the result. Raises
    `SafetyRefusal` where the workload would write to something Strata did not create, and `RunFailed` when not one
    I/O was measured.
    """
    endpoints = endpoints_of(uris)
    generator = engine_for(engine, endpoints, placement) if isinstance(engine, str) else engine
    endpoint = endpoints[0]
    preconditions = precondition != (None, None)
    # What a resumed run does again, or fetches, is the one step at the one endpoint that the run names.
    goes_on = aim is None and not preconditions and len(endpoints) == 1
    precise = None if aim is None else _precise(aim, endpoints, workload, generator, store)
    timing = timing if precise is None else precise.timing(timing)
    _check_able(generator, endpoints, workload, preconditions=preconditions)
    if trace:
        _check_trace(endpoint)
    asked = size if resumed is None else None
    with opened_together(endpoints, workload, size, keep, destructive, asked=asked) as targets, ExitStack() as going:
        mark = targets.targets[0].mark
        _check_size(resumed, targets.size)
        ceiling = measure_generator(
            generator, [workload], Timing(ramp_s=0.01, runtime_s=0.04, interval_s=0.04), placement
        )
        plan = resumed.plan if resumed else plan_of_one(stack_of(endpoints), workload, timing, targets.size, placement)
        (cell,), (step,), created = plan.cells, plan.steps, resumed.created_unix_ns if resumed else now_unix_ns()
        label = resumed.label if resumed else label or Label()
        sampling = sampling_scope_of_endpoints(endpoints)
        runner = Runner(targets, generator, None, lambda _: sampling)
        if resumed is not None or (goes_on and isinstance(generator, Keeping)):
            from strata.app.measure_begun import begun

            first = run_of(plan, generator.identity(), label, resumed, created_unix_ns=created, mark=mark)
            runner = going.enter_context(begun(runner, first, store, anew=resumed is None))
        done = None
        budget = budget_of(*precondition, timing.runtime_s, targets.size)
        if budget is not None:
            done = write_until_steady(runner, cell, budget, placement)
        prepared = runner.ready(step, cell, timing, placement)
        with stop_on_signals() as stop, recorded(plan.id, plan.stack, emit, aim.mean if aim else None) as told:
            hear = as_progress(told, endpoint.uri, workload.label, timing.runtime_s, precise)
            heard, runner.stop_requested = (hear, stop) if precise is None else precise.between(hear, stop)
            if resumed is None or not _measured(runner, step):
                runner.carry_out(
                    SingleStep(plan), lambda s, c: _with_fault(runner, runner.measure_cell(s, c, prepared, heard)),
                    commit=runner.commit_or_hold,
                )  # fmt: skip
        measured = runner.cells()
        moved = "; ".join(filter(None, (runner.unkept, targets.gone()))) or None
        result = measured[0].result if measured else None
        # Behind the measurement, as a window of its own.
        wanted = trace and stop.signal is None and result is not None and result.ops and fault(result) is None
        traces = _traced(generator, prepared.request, endpoint) if wanted else ()
    # Here: the numerical libraries are loaded by what judges a measurement, not by a word that is refused before it.
    from strata.analyse import analyse

    reached = result is not None and precise is not None and not result.lost and precise.ended_it(result, stop.signal)
    trouble = None if result is None or reached else fault(result)
    result = _something(result, endpoint, trouble, stop.signal)
    course = None if precise is None else precise.course(result)
    # What it writes is not known before.
    plan = plan.model_copy(update={"bytes_written": result.write.bytes})
    found = analyse(plan, measured, data=None, generator=ceiling, remotes=(), survey=None, chain=measured[0].devices)
    summary = found.cells[0] if course is None else settled(found.cells[0], course)
    report = report_of_one(
        plan,
        measured[0],
        found.model_copy(update={"cells": (summary,)}),
        course,
        generator,
        label=label,
        created_unix_ns=created,
        status=_status(trouble, stopped=goes_on if result.lost else stop.signal is not None),
        mark=mark if runner.run is not None or result.lost else None,
        generator=ceiling,
        preconditions=() if done is None else (done,),
        message=trouble or moved,
    )
    run, unkept = keep_run(report, store, begun=runner.run is not None, unsaved=runner.unsaved)
    return OneResult(
        endpoint=" + ".join(e.uri for e in endpoints),
        workload=workload,
        summary=summary.model_copy(update={"traces": traces}),
        checks=_of_null(found.checks) if endpoint.kind is EndpointKind.NULL else found.checks,
        result=result,
        generator=ceiling,
        precondition=done,
        course=course,
        earlier=None if precise is None else precise.earlier,
        run=run,
        unkept=unkept,
        trouble=trouble,
        moved=moved,
        stopped_by=stop.signal,
        clients=clients_of(result),
        report=report,
    )


def _of_null(checks: Sequence[Check]) -> tuple[Check, ...]:
    """What means something where nothing is driven."""
    from strata.analyse.laws import laws

    of_null = {law.name for law in laws() if law.of_null}
    return tuple(c for c in checks if c.kind in of_null)


def _precise(aim: Aim, endpoints: Sequence[Endpoint], workload: Workload, engine: Engine, store: str | None) -> Precise:
    # Here, as all that few ask for: what it loads delays the first I/O.
    from strata.app.earlier import earlier_noise_of

    name = series_of(stack_of(endpoints), workload, engine)
    return Precise(aim, earlier_noise_of(endpoints[0], workload.direct, store, name))


def _check_size(resumed: Run | None, size: int) -> None:
    if resumed is not None and size != resumed.plan.file_size:
        why = f"it measured {units.size(resumed.plan.file_size)}, and {units.size(size)} are there"
        raise RunFailed("cannot resume", resumed.id, why, "start a new run")


def _measured(runner: Runner, step: Step) -> bool:
    """Whether the store has its result already: the command ended between that and its judgement."""
    return any(c.order == step.order and c.result is not None and c.error is None for c in runner.cells())


def _with_fault(runner: Runner, done: CellResult) -> CellResult:
    """With why it is no measurement, where the run is in the store already, or goes there because clients were lost."""
    if done.result is None or (runner.run is None and not done.result.lost):
        return done
    return done.model_copy(update={"error": fault(done.result)})


def _traced(engine: Engine, request: Request, endpoint: Endpoint) -> tuple[TraceSummary, ...]:
    from strata.app.trace import traced

    return traced(engine, request, Path(endpoint.path or "")).devices


def _check_able(engine: Engine, endpoints: Sequence[Endpoint], workload: Workload, *, preconditions: bool) -> None:
    """Before anything is made or filled."""
    endpoint = endpoints[0]
    if preconditions and (endpoint.kind is not EndpointKind.FILE or not workload.rw.carries):
        why = "preconditioning needs a workload that writes to a file of Strata's own"
        raise UsageError(
            "cannot precondition", endpoint.uri.rstrip(":"), why, "for example: file:/mnt/new.dat --rw write"
        )
    for one in endpoints:
        if refused := engine.refusals(one, workload):
            able = "fio" if one.kind in CLUSTER else "native"
            hint = "" if able == engine.name else f"--engine {able}"
            raise UsageError(f"the {engine.name} engine cannot measure", one.uri, "; ".join(refused), hint)
        check(one, workload)


def _something(
    result: EngineResult | None, endpoint: Endpoint, trouble: str | None, stopped_by: int | None
) -> EngineResult:
    if result is not None and result.ops:
        return result
    if stopped_by is not None:
        # Nothing to show: it ends as it would have without us.
        signal.raise_signal(stopped_by)
    if result is None:
        raise KeyboardInterrupt
    raise RunFailed("nothing was measured at", endpoint.uri, trouble or "no I/O completed")


def _check_trace(endpoint: Endpoint) -> None:
    if endpoint.kind not in (EndpointKind.FILE, EndpointKind.BLOCK):
        raise UsageError("cannot trace", endpoint.uri, "its device is not on this machine", "leave --trace out")
    from strata.probes.trace import check

    check(endpoint.path or "")


def series_of(stack: Stack, workload: Workload, engine: Engine) -> SeriesName:
    """What the store calls this cell at this place, over all runs."""
    layer = stack.layers[0].name
    here = identity(platform.node(), stack, layer, engine.name)
    return SeriesName(layer=layer, workload_key=workload.key, identity=here)


def plan_of_one(stack: Stack, workload: Workload, timing: Timing, size: int, placement: Placement | None) -> Plan:
    """``stack`` has one layer; ``size`` are the bytes that are reached."""
    cell = Cell(layer=stack.layers[0].name, workload=workload)
    return Plan(
        id=new_id(), stack=stack, cells=(cell,), steps=(Step(order=0, round=0, cell=cell.key),), rounds=1,
        seed=workload.seed, ramp_s=timing.ramp_s, runtime_s=timing.runtime_s, interval_s=timing.interval_s,
        file_size=size, seconds=timing.ramp_s + timing.runtime_s, bytes_written=0, assumed_write_bps=0,
        placement=placement,
    )  # fmt: skip


def report_of_one(
    plan: Plan, done: CellResult, analysis: Analysis, course: Course | None, engine: Engine, **found: Any
) -> Report:
    """As a run of its own, for pages and for the store: the figures of ``analysis``, and of the result the regime that
    it ended in. Without a ``course`` it says nothing of the noise: its intervals are too long for that. ``found``:
    further words for `run_of`."""
    from strata.analyse.pooled import noise_of
    from strata.app.earlier import noise_place
    from strata.app.kept import report_of
    from strata.diagnose import diagnose
    from strata.model.regime import last_regime

    if course is not None and done.result is not None:
        done = done.model_copy(update={"result": last_regime(done.result, course)})
    target = plan.stack.layers[0].target
    if course is not None:
        place = noise_place(target, plan.cells[0].workload.direct)
        found |= {"pooled": noise_of(plan, (done,)), "pooled_at": place}
    run = run_of(plan, engine.identity(), survey=_platform(target), **found)
    return report_of((done,), run, analysis, diagnose(plan.stack, analysis))


def _status(trouble: str | None, *, stopped: bool) -> RunStatus:
    """``stopped``: somebody ended it, or clients were lost, and it can be resumed."""
    return RunStatus.STOPPED if stopped else RunStatus.FAILED if trouble else RunStatus.DONE


def keep_run(
    report: Report, url: str | None, *, begun: bool = False, unsaved: Sequence[CellResult] = ()
) -> tuple[str | None, str | None]:
    """Into the store: (its id, None), or (None, why it was not kept). What was measured is not lost for a store that
    gives trouble. ``begun``: the run is there already, and its results but for those ``unsaved``."""
    from strata.app.kept import opened

    lost = any(r.result is not None and r.result.lost for r in report.results)
    if report.run.status is not RunStatus.DONE and not (begun or lost):
        # Nobody could go on with it, and it is not as long as what it would be compared with.
        return None, "it did not complete"

    try:
        with opened(url) as store:
            if begun:
                for result in unsaved:
                    store.save_cell(report.run.id, result)
                store.update_run(report.run)
                store.save_outcome(report.run.id, report.analysis, report.diagnosis)
            else:
                store.keep_whole([(report.run, report.results, (report.analysis, report.diagnosis))])
    except StrataError as e:
        return None, e.render()
    return report.run.id, None


def _platform(endpoint: Endpoint) -> Survey | None:
    """What a later run is compared by: devices, file system, governor. Of a server nobody here can tell."""
    from strata.discover.survey import survey

    if endpoint.kind is not EndpointKind.FILE or endpoint.path is None:
        return None
    try:
        return survey(Path(endpoint.path).parent, 0.0)
    except StrataError:
        return None
