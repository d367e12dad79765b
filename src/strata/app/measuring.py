"""One workload against one endpoint."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from pydantic import Field

from strata import units
from strata.app.preconditioning import budget_of, write_until_steady
from strata.app.stopping import stop_on_signals
from strata.app.until import Precise, settled
from strata.engine import (
    DEFAULT_ENGINE,
    Request,
    Timing,
    engine_of,
    fill,
    measure_generator,
    prepare_cell,
    read_remote,
    run_cell,
)
from strata.engine.layout import file_segments
from strata.engine.native import endpoint_size
from strata.errors import RunFailed, SafetyRefusal, UsageError
from strata.host import safety, testfile
from strata.host.mark import parse_header
from strata.host.rawcheck import check_raw_read, open_raw_write
from strata.model.analysis import Analysis, CellSummary, Check, CheckKind, Generator
from strata.model.base import Value
from strata.model.caching import refusal
from strata.model.course import Aim, Course
from strata.model.endpoint import Endpoint, EndpointKind
from strata.model.placement import Placement
from strata.model.plan import Cell, Plan, Segment, Step
from strata.model.precondition import Preconditioned
from strata.model.result import CellResult, EngineResult, Interval
from strata.model.series import Series
from strata.model.stack import Layer, Stack
from strata.model.workload import Workload
from strata.plan.words import workload_from_words
from strata.probes import Sampler
from strata.run.judge import fault

OF_NULL = frozenset({CheckKind.GENERATOR, CheckKind.OVERLOAD, CheckKind.ERRORS, CheckKind.BUILD, CheckKind.THREADS})
"""Checks that mean something where nothing is driven: the other laws speak of a target."""

__all__ = ["OneResult", "is_endpoint", "measure_endpoint", "timing_of", "workload_from_words"]


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


class Target(Value):
    """What may be driven, after the safety gate: blocks and whether a device may be opened for writing."""

    segments: tuple[Segment, ...]
    allow_write: bool = False
    opened: str | None = None
    """Path of the descriptor that the safety gate checked, where the engine must open that and no other."""


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
    uri: str,
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
) -> OneResult:
    """Runs it with the ``engine`` of that name. A file that does not exist is created, filled, and removed unless kept.

    With an ``aim`` it ends when the aim is reached, at the latest after the aim's own maximum; the time in ``timing``
    does not count, and the summary's figures are those of the regime the measurement ended in.

    SIGINT and SIGTERM during the measurement end it, and what was measured until then is the result. Raises
    `SafetyRefusal` where the workload would write to something Strata did not create, and `RunFailed` when not one
    I/O was measured.
    """
    precise = Precise(aim) if aim is not None else None
    if precise is not None:
        timing = precise.timing(timing)
    endpoint, generator = Endpoint.parse(uri), engine_of(engine, placement)
    if refused := generator.refusals(endpoint, workload):
        raise UsageError(f"the {engine} engine cannot measure", uri, "; ".join(refused), "--engine native")
    if why := refusal(endpoint, workload):
        # Before anything is made or filled.
        raise UsageError(f"cannot measure with a {workload.cache} cache at", endpoint.uri.rstrip(":"), why)
    preconditions = precondition_s is not None or precondition_bytes is not None
    if preconditions and (endpoint.kind is not EndpointKind.FILE or not workload.rw.writes):
        why = "only a workload that writes to a file of Strata's own is preconditioned"
        raise UsageError(
            "cannot precondition", endpoint.uri.rstrip(":"), why, "for example: file:/mnt/new.dat --rw write"
        )
    with opened(endpoint, workload, size, keep, destructive) as target:
        ceiling = measure_generator(
            generator, [workload], Timing(ramp_s=0.05, runtime_s=0.15, interval_s=0.15), placement
        )
        driven = endpoint if target.opened is None else Endpoint.parse(f"block:{target.opened}")
        done = None
        size_here = sum(s.length for s in target.segments)
        budget = budget_of(precondition_s, precondition_bytes, timing.runtime_s, size_here)
        if budget is not None:
            cell = Cell(layer=endpoint.kind.value, workload=workload)
            done = write_until_steady(cell, budget, driven, target.segments, placement=placement)
        prepared = prepare_cell(
            Request(
                endpoint=driven,
                workload=workload,
                segments=target.segments,
                timing=timing,
                allow_write=target.allow_write,
                placement=placement,
            )
        )
        sampler = Sampler(())
        sampler.start()
        try:
            with stop_on_signals() as stop:
                heard, ends = (on_interval, stop) if precise is None else precise.between(on_interval, stop)
                result = run_cell(generator, prepared, heard, ends)
        finally:
            counters = sampler.stop()
    trouble = None if precise is not None and precise.ended_it(result, stop.signal) else fault(result)
    if result.ops == 0:
        if stop.signal is not None:
            # Nothing to show: it ends as it would have without us.
            signal.raise_signal(stop.signal)
        raise RunFailed("nothing was measured at", endpoint.uri, trouble or "no I/O completed")
    course = None if precise is None else precise.course(result)
    analysis = _analysed(endpoint, workload, timing, target, result, counters, ceiling)
    return OneResult(
        endpoint=endpoint.uri,
        workload=workload,
        summary=analysis.cells[0] if course is None else settled(analysis.cells[0], course),
        checks=tuple(c for c in analysis.checks if endpoint.kind is not EndpointKind.NULL or c.kind in OF_NULL),
        result=result,
        generator=ceiling,
        precondition=done,
        course=course,
        trouble=trouble,
        stopped_by=stop.signal,
    )


def _analysed(
    endpoint: Endpoint,
    workload: Workload,
    timing: Timing,
    target: Target,
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
        file_size=sum(s.length for s in target.segments),
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


@contextmanager
def opened(
    endpoint: Endpoint,
    workload: Workload,
    size: int | None,
    keep: bool,
    destructive: str | None,
    *,
    fill_new: bool = True,
) -> Iterator[Target]:
    """The safety gate of everything that drives one endpoint: what may be driven, for as long as the block lasts.

    A file that does not exist is made, filled unless ``fill_new`` is false, and removed again unless kept.
    """
    with ExitStack() as made:
        match endpoint.kind:
            case EndpointKind.NULL:
                yield Target(segments=(_whole(size or units.GIB),))
            case EndpointKind.FILE:
                yield _file(Path(endpoint.path or ""), workload, size, keep, made, fill_new)
            case EndpointKind.BLOCK:
                yield _block(endpoint.path or "", workload, destructive, made)
            case EndpointKind.NBD:
                yield _nbd(endpoint, workload, destructive)


def _file(path: Path, workload: Workload, size: int | None, keep: bool, made: ExitStack, fill_new: bool) -> Target:
    if path.exists() or path.is_symlink():
        if workload.rw.writes:
            safety.check_own_file(path)
            return Target(segments=file_segments(path.stat().st_size))
        if not path.is_file():
            raise SafetyRefusal("will not drive", str(path), "it is not a regular file", "name a file or a device")
        return Target(segments=(_whole(path.stat().st_size),))
    wanted = size or 256 * units.MIB
    mark = testfile.create(path, wanted - wanted % units.MIB)
    if not keep:
        made.callback(testfile.remove, path, mark)
    if fill_new:
        fill(str(path), mark.size, workload.seed, testfile.header_bytes(mark), direct=workload.direct)
    return Target(segments=file_segments(mark.size))


def _block(device: str, workload: Workload, destructive: str | None, made: ExitStack) -> Target:
    if workload.rw.writes:
        if destructive is None:
            raise SafetyRefusal(
                "will not write to",
                device,
                "raw devices are read-only",
                f"if everything on it may be lost: --destructive {device}",
            )
        # Held exclusively until the end: nobody can mount it meanwhile, and the engine opens what was checked.
        claim = open_raw_write(device, destructive)
        made.callback(os.close, claim)
        opened = f"/proc/self/fd/{claim}"
        return Target(segments=(_whole(endpoint_size(opened)),), allow_write=True, opened=opened)
    check_raw_read(device)
    return Target(segments=(_whole(endpoint_size(device)),))


def _nbd(endpoint: Endpoint, workload: Workload, destructive: str | None) -> Target:
    size = endpoint_size(endpoint.uri)
    if not workload.rw.writes:
        return Target(segments=(_whole(size),))
    if parse_header(read_remote(endpoint.uri, 0, testfile.MARK_BYTES)) is not None:
        return Target(segments=file_segments(size))
    if destructive is None:
        raise SafetyRefusal(
            "will not write to",
            endpoint.uri,
            "the export does not carry Strata's mark, so Strata did not create it",
            f"if everything on it may be lost: --destructive {endpoint.uri}",
        )
    if destructive != endpoint.uri:
        raise UsageError("the name after --destructive differs from the endpoint", destructive, f"not {endpoint.uri}")
    return Target(segments=(_whole(size),))


def _whole(size: int) -> Segment:
    return Segment(start=0, length=size, target=0)
