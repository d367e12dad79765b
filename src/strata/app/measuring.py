"""One workload against one endpoint."""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from pydantic import Field

from strata import units
from strata.app.opening import Target, opened
from strata.app.preconditioning import budget_of, write_until_steady
from strata.app.sampled import run_sampled
from strata.app.stopping import stop_on_signals
from strata.app.traced import traced
from strata.app.until import Precise, settled
from strata.engine import (
    DEFAULT_ENGINE,
    Piece,
    Request,
    Timing,
    engine_of,
    measure_generator,
    prepare_cell,
)
from strata.errors import RunFailed, UsageError
from strata.model.analysis import Analysis, CellSummary, Check, CheckKind, Generator
from strata.model.base import Value
from strata.model.caching import refusal
from strata.model.course import Aim, Course
from strata.model.endpoint import Endpoint, EndpointKind
from strata.model.placement import Placement
from strata.model.plan import Cell, Plan, Step
from strata.model.precondition import Preconditioned
from strata.model.result import CellResult, EngineResult, Interval
from strata.model.series import Series
from strata.model.stack import Layer, Stack
from strata.model.trace import TraceSummary
from strata.model.workload import Workload
from strata.plan.words import PatternWords, workload_from_words
from strata.probes.trace import check as check_trace
from strata.run.judge import fault

OF_NULL = frozenset({CheckKind.GENERATOR, CheckKind.OVERLOAD, CheckKind.ERRORS, CheckKind.BUILD, CheckKind.THREADS})
"""Checks that mean something where nothing is driven: the other laws speak of a target."""

__all__ = ["OneResult", "PatternWords", "is_endpoint", "measure_endpoint", "timing_of", "workload_from_words"]


class OneResult(Value):
    """A single measurement with the generator's ceiling beside it (IOPS and ns per I/O at a null endpoint)."""

    schema_version: str = Field(default="strata.measure/1", alias="schema")
    endpoint: str
    workload: Workload
    summary: CellSummary
    checks: tuple[Check, ...]
    result: EngineResult
    generator: Generator
    precondition: Preconditioned | None = None
    """What was written before, until the rate was steady."""
    course: Course | None = None
    """How it went over its time; None where no precision was asked."""
    trouble: str | None = None
    """Why the run ended before its time; what was measured until then is in the result."""
    stopped_by: int | None = None
    """The signal that stopped it."""


def is_endpoint(where: str) -> bool:
    """Whether the word is an endpoint's URI and not a directory or a stack file."""
    return ":" in where and not Path(where).exists()


def timing_of(ramp: str, runtime: str, interval: str) -> Timing:
    """Times as the user writes them (`2s`, `500ms`). Raises `UsageError`."""
    ramp_s, runtime_s, interval_s = (units.parse_duration_ns(t) / units.NS_PER_S for t in (ramp, runtime, interval))
    if runtime_s <= 0 or interval_s <= 0:
        raise UsageError("cannot measure for", runtime, "runtime and interval must be longer than nothing")
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
    precondition_s: float | None = None,
    precondition_bytes: int | None = None,
    on_interval: Callable[[Interval], None],
    engine: str = DEFAULT_ENGINE,
    aim: Aim | None = None,
    trace: bool = False,
) -> OneResult:
    """Runs it with the ``engine`` of that name on one endpoint, or on several of one kind together.

    A file that does not exist is created, filled, and removed again unless kept.

    With an ``aim`` it ends when the aim is reached, at the latest after the aim's own maximum; the time in ``timing``
    does not count, and the summary's figures are those of the regime the measurement ended in.

    With ``trace``, a window of half a second with a block trace follows.

    SIGINT and SIGTERM during the measurement end it, and what was measured until then is the result. Raises
    `SafetyRefusal` where the workload would write to something Strata did not create, and `RunFailed` when not one
    I/O was measured.
    """
    precise = Precise(aim) if aim is not None else None
    if precise is not None:
        timing = precise.timing(timing)
    endpoints, generator = _endpoints(uris), engine_of(engine, placement)
    endpoint = endpoints[0]
    for one in endpoints:
        if refused := generator.refusals(one, workload):
            raise UsageError(f"the {engine} engine cannot measure", one.uri, "; ".join(refused), "--engine native")
        if why := refusal(one, workload):
            # Before anything is made or filled.
            raise UsageError(f"cannot measure with a {workload.cache} cache at", one.uri.rstrip(":"), why)
    preconditions = precondition_s is not None or precondition_bytes is not None
    if preconditions and (endpoint.kind is not EndpointKind.FILE or not workload.rw.writes):
        why = "only a workload that writes to a file of Strata's own is preconditioned"
        raise UsageError(
            "cannot precondition", endpoint.uri.rstrip(":"), why, "for example: file:/mnt/new.dat --rw write"
        )
    if trace:
        if endpoint.kind not in (EndpointKind.FILE, EndpointKind.BLOCK):
            raise UsageError("cannot trace", endpoint.uri, "its device is not on this machine", "leave --trace out")
        check_trace(endpoint.path or "")
    with ExitStack() as held:
        targets = [held.enter_context(opened(e, workload, size, keep, destructive)) for e in endpoints]
        ceiling = measure_generator(
            generator, [workload], Timing(ramp_s=0.02, runtime_s=0.08, interval_s=0.08), placement
        )
        first, *others = (_piece(e, t) for e, t in zip(endpoints, targets, strict=True))
        done = None
        size_here = sum(s.length for t in targets for s in t.segments)
        budget = budget_of(precondition_s, precondition_bytes, timing.runtime_s, size_here)
        if budget is not None:
            cell = Cell(layer=endpoint.kind.value, workload=workload)
            done = write_until_steady(cell, budget, first.endpoint, first.segments, more=others, placement=placement)
        prepared = prepare_cell(
            Request(
                endpoint=first.endpoint,
                workload=workload,
                segments=first.segments,
                timing=timing,
                allow_write=all(t.allow_write for t in targets),
                placement=placement,
                more=tuple(others),
            )
        )
        with stop_on_signals() as stop:
            heard, ends = (on_interval, stop) if precise is None else precise.between(on_interval, stop)
            result, counters = run_sampled(generator, prepared, (), heard, ends)
        traces: tuple[TraceSummary, ...] = ()
        if trace and stop.signal is None and result.ops and fault(result) is None:
            # Behind the measurement, as a window of its own.
            traces = traced(generator, prepared.request, Path(endpoint.path or ""))
    trouble = None if precise is not None and precise.ended_it(result, stop.signal) else fault(result)
    if result.ops == 0:
        if stop.signal is not None:
            # Nothing to show: it ends as it would have without us.
            signal.raise_signal(stop.signal)
        raise RunFailed("nothing was measured at", endpoint.uri, trouble or "no I/O completed")
    course = None if precise is None else precise.course(result)
    analysis = _analysed(endpoint, workload, timing, size_here, result, counters, ceiling)
    summary = analysis.cells[0] if course is None else settled(analysis.cells[0], course)
    return OneResult(
        endpoint=" + ".join(e.uri for e in endpoints),
        workload=workload,
        summary=summary.model_copy(update={"traces": traces}),
        checks=tuple(c for c in analysis.checks if endpoint.kind is not EndpointKind.NULL or c.kind in OF_NULL),
        result=result,
        generator=ceiling,
        precondition=done,
        course=course,
        trouble=trouble,
        stopped_by=stop.signal,
    )


def _endpoints(uris: Sequence[str]) -> list[Endpoint]:
    found = [Endpoint.parse(uri) for uri in uris]
    if len({(e.kind, e.uri) for e in found}) < len(found) or len({e.kind for e in found}) > 1:
        raise UsageError("cannot load together:", ", ".join(uris), "targets are different ones of one kind")
    return found


def _piece(endpoint: Endpoint, target: Target) -> Piece:
    driven = endpoint if target.opened is None else Endpoint.parse(f"block:{target.opened}")
    return Piece(endpoint=driven, segments=target.segments)


def _analysed(
    endpoint: Endpoint,
    workload: Workload,
    timing: Timing,
    size: int,
    result: EngineResult,
    counters: tuple[Series, ...],
    ceiling: Generator,
) -> Analysis:
    """A run of one cell in one round, so that one measurement is held against the same laws as a whole run."""
    from strata.analyse import analyse

    layer = Layer(name=endpoint.kind.value, endpoint=endpoint.uri)
    cell = Cell(layer=layer.name, workload=workload)
    step = Step(order=0, round=0, cell=cell.key)
    plan = Plan(
        id="single",
        stack=Stack(name=endpoint.uri, layers=(layer,)),
        cells=(cell,),
        steps=(step,),
        rounds=1,
        seed=workload.seed,
        ramp_s=timing.ramp_s,
        runtime_s=timing.runtime_s,
        interval_s=timing.interval_s,
        file_size=size,
        seconds=timing.ramp_s + timing.runtime_s,
        bytes_written=result.write.bytes,
        assumed_write_bps=0,
    )
    done = CellResult(
        order=0,
        round=0,
        cell=cell.key,
        kind=step.kind.value,
        layer=layer.name,
        workload_key=workload.key,
        result=result,
        counters=counters,
    )
    return analyse(plan, (done,), data=None, generator=ceiling, remotes=(), survey=None)
