"""A window of a block trace, beside a command or a short measurement, for a time, or read from a file."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from strata import units
from strata.app.beside import beside
from strata.app.signals import stop_on_signals
from strata.app.stacks import asked_of, elsewhere, local_paths, no_nodes, read_stack
from strata.app.where import existing
from strata.discover.chain import chain, chain_of_device, mount_under
from strata.engine import Engine, Request, Timing, prepare_cell, run_cell
from strata.errors import RunFailed, UsageError
from strata.host import block, untrusted
from strata.host.proc import Sys
from strata.model.result import EngineResult
from strata.model.stack import Stack
from strata.model.survey import Device
from strata.model.trace import (
    COST_LIMIT,
    TraceFigures,
    TraceRecording,
    TraceResult,
    TraceSummary,
    TraceTarget,
    summary_of,
)
from strata.probes.trace import (
    HINT,
    MAX_EVENTS,
    TRACE_MOST,
    ReadTrace,
    Window,
    check,
    extents_of,
    read_trace,
    recording,
    target,
)

DEFAULT_S = 5.0
LONGEST_S = 24 * 3600.0
EVENTS_LEAST, EVENTS_MOST = 1000, 20_000_000
NO_DEVICE = "-"
"""Stands for no device: only connections are followed."""
_LOOK_S = 0.1


def targets_of(where: Path, sys: Sys | None = None) -> tuple[TraceTarget, ...]:
    """The device, or the devices below a path, upper before lower. Raises `RunFailed` where there is none."""
    sys = sys or Sys()
    try:
        found = os.stat(where)  # noqa: PTH116 - its kind and its number
    except OSError as e:
        raise UsageError("cannot trace", str(where), (e.strerror or str(e)).lower()) from e
    if stat.S_ISBLK(found.st_mode):
        name = block.name_of(f"{os.major(found.st_rdev)}:{os.minor(found.st_rdev)}", sys)
        devices = () if name is None else chain_of_device(name, sys)
    else:
        mount = mount_under(where, sys)
        devices = () if mount is None else chain(mount, sys)
    targets = tuple(_followed(devices, sys))
    if not targets:
        why = "no block device of this machine is below it (it is in memory, remote, or hidden by its driver)"
        raise RunFailed("cannot trace", str(where), why, "give a device: strata survey shows them")
    return targets


def targets_of_stack(stack: Stack, sys: Sys | None = None) -> tuple[TraceTarget, ...]:
    """The devices below every layer that names a file or a device of this machine, each once.

    Raises `RunFailed` where there is none.
    """
    found: dict[str, TraceTarget] = {}
    refused: RunFailed | None = None
    for path in local_paths(stack):
        try:
            found |= {t.name: t for t in targets_of(path, sys) if t.name not in found}
        except RunFailed as e:
            refused = e
    if found:
        return tuple(found.values())
    far = "; ".join(elsewhere(stack)) or (refused.why if refused else "no layer names a file or device of this machine")
    raise RunFailed("cannot trace", stack.name, far, "trace on the machine that has the devices")


def _followed(devices: Sequence[Device], sys: Sys) -> list[TraceTarget]:
    above = {member: device.name for device in devices for member in device.members}
    found: dict[str, TraceTarget] = {}
    for device in devices:
        # A partition is followed by its own sectors: its disk would show the same requests again, and others'.
        if any(t.entrance is not None and block.parent(t.name, sys) == device.name for t in found.values()):
            continue
        upper = above.get(device.name)
        if one := target(device.name, "device" if upper is None else f"under {upper}", sys):
            found[device.name] = one.model_copy(update={"above": upper if upper in found else None})
    return list(found.values())


def trace(
    where: Path | str,
    *,
    seconds: float | None = None,
    max_events: int = MAX_EVENTS,
    save: Path | None = None,
    command: Sequence[str] = (),
    waterfall: bool = False,
    nodes: str | None = None,
) -> TraceResult:
    """Record for ``seconds`` (5), or as long as ``command`` runs, and at most ``max_events``.

    With ``waterfall`` also the path of each request: those of ``command``, without one all that reach the devices. A
    client of other machines may have no device: ``-`` then. ``nodes``: the scheduler whose nodes trace the layers of a
    stack file, where it does not name one itself.

    The command's output goes to stderr; it is waited for, also when the window ends before it does. A signal ends
    the window, and what was recorded until then is the result. Raises `StrataError`s.
    """
    limit = seconds if seconds is not None else (LONGEST_S if command else DEFAULT_S)
    check_window(limit, max_events)
    stack = None
    if str(where) == NO_DEVICE:
        if nodes is not None:
            raise no_nodes(where, "traced")
        if not (waterfall and command):
            why = "without a device there are only the requests of a command to follow"
            raise UsageError("cannot trace", str(where), why, "strata trace - --waterfall -- COMMAND")
        check("connections")
        targets: tuple[TraceTarget, ...] = ()
    else:
        where = existing(where, "trace")
        stack = asked_of(read_stack(where), nodes) if where.suffix == ".toml" and where.is_file() else None
        if stack is None and nodes is not None:
            raise no_nodes(where, "traced")
        if stack is not None and stack.scheduler is not None:
            _one_machine(where, save=save is not None, waterfall=waterfall)
            return _on_nodes(stack, where, limit, max_events, command)
        check(str(where))
        targets = targets_of(where) if stack is None else targets_of_stack(stack)
    status = None
    extents = {t.name: extents_of(t) for t in targets} if waterfall else None
    with recording(targets, limit, max_events, save, extents) as window:
        if command:
            status = _beside(window, command)
        else:
            with stop_on_signals() as stop:
                while (done := window.wait(_LOOK_S)) is None:
                    if stop():
                        window.stop()
        figures, told = done if not command and done is not None else window.result()
    return TraceResult(
        where=str(where),
        form="live",
        figures=figures,
        recording=told,
        command=tuple(command),
        command_status=status,
        absent_events=window.absent,
        notes=(*_notes(figures, told, limit, max_events), *(elsewhere(stack) if stack is not None else ())),
        saved=None if save is None else str(save),
        waterfall=window.waterfall,
    )


def check_window(seconds: float, max_events: int) -> None:
    """Raises `UsageError` for a window that is longer, or may hold more, than any may."""
    if not 0 < seconds <= LONGEST_S:
        raise UsageError("cannot trace for", f"{seconds:g} s", "--seconds must be above 0 and at most 86400 (a day)")
    if not EVENTS_LEAST <= max_events <= EVENTS_MOST:
        raise UsageError("cannot record", f"{max_events} events", "--max-events must be 1000 to 20 000 000 (960 MB)")


def _one_machine(where: Path, *, save: bool, waterfall: bool) -> None:
    """What is told of the events of one machine alone."""
    if save or waterfall:
        what = "--waterfall" if waterfall else "--save"
        why = "it needs all events of one machine, and the layers of this stack file are traced by its nodes"
        hint = f"on the machine of a layer: strata trace PATH {what}{' FILE' if save and not waterfall else ''}"
        raise UsageError(f"cannot use {what} with", str(where), why, hint)


def _on_nodes(stack: Stack, where: Path, limit: float, max_events: int, command: Sequence[str]) -> TraceResult:
    """Each machine of the stack by one of its nodes, as long as the window or the command here lasts."""
    # Here: the cluster's library takes more than a second to load.
    from strata.app.driven.tracing import nodes_traced

    status = None
    with nodes_traced(stack, limit, max_events) as traced_there:
        if command:
            try:
                status = beside(command)
            finally:
                traced_there.stop()
        with stop_on_signals() as stop:
            while not traced_there.wait(_LOOK_S):
                if stop():
                    traced_there.stop()
        found = traced_there.result()
    notes = [f"{one.name}: {note}" for one in found.windows for note in _notes(*one.told, limit, max_events)]
    return TraceResult(
        where=str(where),
        form="live",
        figures=found.figures,
        command=tuple(command),
        command_status=status,
        notes=(*found.absent, *notes, *elsewhere(stack, found.layers)),
        nodes=tuple(one.window for one in found.windows),
    )


def _beside(window: Window, command: Sequence[str]) -> int:
    """Run the command to its end while the window is open; its exit status, negative for a signal."""
    try:
        return beside(command, started=window.follow)
    finally:
        window.stop()


def read(
    path: Path, *, waterfall: bool = False, server: Path | None = None, clock: tuple[int, int] | None = None
) -> TraceResult:
    """A saved trace, or text in blkparse's form; with ``waterfall`` also that. The others are as in `read_trace`.

    Raises `UsageError`.
    """
    what = "cannot read the trace"
    with ExitStack() as opened:
        fd = opened.enter_context(untrusted.opened(path, what, TRACE_MOST, HINT))
        other = None
        if server is not None:
            other = (opened.enter_context(untrusted.opened(server, what, TRACE_MOST, HINT)), server)
        return _as_result(read_trace(fd, path, waterfall=waterfall, server=other, clock=clock), path)


def read_open(fd: int, path: Path) -> TraceResult:
    """As `read`, of the file ``path`` that is open already."""
    return _as_result(read_trace(fd, path), path)


def _as_result(found: ReadTrace, path: Path) -> TraceResult:
    told = found.recording
    return TraceResult(
        where=str(path),
        form=found.form,
        figures=found.figures,
        recording=told,
        notes=(*found.notes, *(() if told is None else _notes(found.figures, told, None, None))),
        waterfall=found.waterfall,
    )


def missing_of(told: TraceRecording, limit: float | None, max_events: int | None) -> list[str]:
    """In words, what a window lost, and what it was too short for."""
    notes = []
    if not told.whole:
        lost = f"at least {units.count(told.losses.events)} events" if told.losses.events else "events"
        notes.append(
            f"incomplete: {lost} were lost, so shares, depths and times below cover only the recorded ones; "
            "trace for a shorter time, or with less load"
        )
    if told.ended_by == "events" and max_events is not None and limit is not None:
        ended = units.duration(told.recorder.wall_ns)
        notes.append(f"the window ended after {ended}, when {units.count(max_events)} events were reached")
    return notes


def _notes(figures: TraceFigures, told: TraceRecording, limit: float | None, max_events: int | None) -> tuple[str, ...]:
    notes = missing_of(told, limit, max_events)
    if told.wire is not None and told.wire.absent is not None:
        notes.append(f"headers of remote protocols could not be read off the wire: {told.wire.absent}")
    if told.wire is not None and told.wire.dropped:
        lost = units.count(told.wire.dropped)
        notes.append(
            f"{lost} segments of TCP connections came faster than their headers were read; their requests are "
            "not followed"
        )
    cost = told.reader_share + told.event_share
    if cost > COST_LIMIT:
        notes.append(
            f"tracing took about {units.percent(cost, 2)} of one CPU at this rate "
            f"({units.percent(told.event_share, 2)} to write the events, {units.percent(told.reader_share, 2)} to read "
            "them)"
        )
    if (figures.added_share or 0) > COST_LIMIT and figures.added_ns is not None:
        notes.append(
            f"writing the events added about {units.duration(figures.added_ns)} to each I/O, "
            f"{units.percent(figures.added_share or 0, 2)} of its time; without a trace each I/O is faster by that time"
        )
    return tuple(notes)


WINDOW_S, RAMP_S, GRACE_S = 0.5, 0.1, 30.0
SHORT_EVENTS = 2_000_000


@dataclass(frozen=True)
class ShortTrace:
    """What reached each device while a workload ran for a moment, the upper one first. ``said``: what is missing of it,
    or was not traced."""

    devices: tuple[TraceSummary, ...]
    said: tuple[str, ...] = ()


def shortly(request: Request) -> tuple[Request, float]:
    """As it is traced: for half a second at most. With the time after which a trace of it ends by itself."""
    seconds = min(WINDOW_S, request.timing.runtime_s)
    timing = Timing(ramp_s=RAMP_S, runtime_s=seconds, interval_s=seconds)
    return request.model_copy(update={"timing": timing}), RAMP_S + seconds + GRACE_S


def traced(
    engine: Engine, request: Request, where: Path, stop_requested: Callable[[], bool] = lambda: False
) -> ShortTrace:
    """The workload of ``request`` for half a second, and what reached the devices below ``where`` meanwhile. Never in a
    timed round: a trace costs.

    The upper device comes first; what others did there is in it too. Raises what the engine and the trace raise.
    """
    request, limit = shortly(request)
    prepared = prepare_cell(request)
    with recording(targets_of(where), limit, SHORT_EVENTS) as window:
        result = run_cell(engine, prepared, None, stop_requested)
        window.stop()
        figures, told = window.result()
    # Ramp and drain are in the trace, so they are in the count it is compared with.
    return ShortTrace(summaries(figures, told, result), tuple(missing_of(told, limit, SHORT_EVENTS)))


def summaries(figures: TraceFigures, told: TraceRecording, result: EngineResult) -> tuple[TraceSummary, ...]:
    """The devices of a window beside that measurement, short."""
    return tuple(summary_of(d, figures.window_ns / 1e9, told.whole, result.completed) for d in figures.devices)
