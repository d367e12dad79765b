"""Block trace: every I/O that reaches a device, for a bounded window.

Reads    a private instance of the kernel's tracing (``instances/strata-PID`` in tracefs): the raw buffers of all
         CPUs, by the formats the kernel gives of them. For a waterfall also system calls, io_uring and TCP sockets of
         the whole machine, headers of remote protocols from packet sockets (what `schemes` says of their messages),
         names of threads (/proc/TID/status), and FIEMAP of a loop device's file.
Makes    a `TraceResult`: service time, wait, depth, order, reordering, splits, merges, threads; a `Waterfall`.
Costs    in the kernel 0.17 µs per event on the CPU where it happens, three events for a plain I/O; reading
         takes its own thread's time, which is measured and part of the result (docs/journal/2026-11-21-trace.md); so
         does the thread that reads headers.
Needs    root, a mounted tracefs (Linux 4.1), the kernel's block events (CONFIG_BLK_DEV_IO_TRACE).
Blind to I/O that never reaches the block layer (page cache, network file systems); who asked, where a file system
         writes later by a thread of its own; time above the block layer (a cgroup's throttle).
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from strata import _core, parsing, units
from strata.errors import RunFailed, UsageError
from strata.host import block
from strata.host.block import BASE
from strata.host.proc import Sys
from strata.model.trace import TraceFigures, TraceRecording, TraceTarget
from strata.model.waterfall import Waterfall
from strata.probes.trace.instance import check, instance
from strata.probes.trace.nesting import Extents, extents_of
from strata.schemes import SCHEMES

__all__ = [
    "HINT",
    "MAX_EVENTS",
    "TRACE_MOST",
    "ReadTrace",
    "Window",
    "check",
    "extents_of",
    "read_trace",
    "recording",
    "target",
]

MAX_EVENTS = 1_000_000
"""48 bytes each."""
TRACE_MOST = units.GIB
"""Bytes of a trace that is read: the longest window that can be saved, or seven million lines of blkparse."""
HINT = "give a file of strata trace --save, or the output of blkparse"
TWO_HINT = "start both traces before the client connects, with strata trace --waterfall --save on both machines"
MAGIC = b"strata-trace 1\n"
_BEGIN_BYTES = 4096
_HEAD_MOST = 8 * units.MIB
"""Bytes of a saved trace's description: the names of 65 536 threads and the devices."""
_BUFFER_KIB = 8192
_BUFFERS_KIB = 256 * 1024
"""For all CPUs together."""


class Window:
    """A recording under way. ``absent`` are events that this kernel does not have; ``waterfall`` is there with the
    result, where one was asked for."""

    def __init__(self, trace: _core.Trace, absent: tuple[str, ...]) -> None:
        self._trace, self.absent = trace, absent
        self.waterfall: Waterfall | None = None

    def stop(self) -> None:
        """Ask for its end."""
        self._trace.stop()

    def follow(self, pid: int) -> None:
        """The waterfall is of this process and all that it starts."""
        self._trace.follow(pid)

    @property
    def events(self) -> int:
        """Read so far."""
        return self._trace.events()

    def wait(self, timeout_s: float) -> tuple[TraceFigures, TraceRecording] | None:
        """The result when it comes in time. Raises `RunFailed` when the buffers could not be read to the end."""
        try:
            text = self._trace.wait(timeout_s)
        except OSError as e:
            raise RunFailed("the trace was lost:", "", e.strerror or str(e)) from e
        if text is None:
            return None
        document = json.loads(text)
        if document["waterfall"] is not None:
            self.waterfall = Waterfall.model_validate(document["waterfall"])
        return TraceFigures.model_validate(document["figures"]), TraceRecording.model_validate(document["recording"])

    def result(self) -> tuple[TraceFigures, TraceRecording]:
        """As `wait`, however long it takes."""
        while (found := self.wait(3600.0)) is None:
            pass
        return found


@contextmanager
def recording(
    targets: Sequence[TraceTarget],
    seconds: float,
    max_events: int = MAX_EVENTS,
    save: Path | None = None,
    extents: Mapping[str, Extents] | None = None,
) -> Iterator[Window]:
    """A window on these devices that began just now; at its end, or on the way out, the instance is removed.

    With ``extents`` (of those devices that lie below another one, see `nested`) it gives a waterfall too.

    It ends by itself after ``seconds`` or with the event that reaches ``max_events``. Raises `RunFailed`.
    """
    processors = os.cpu_count() or 1
    kib = max(512, min(_BUFFER_KIB, _BUFFERS_KIB // processors))
    with instance(targets, kib, path_too=extents is not None) as ready:
        job = {
            "instance": str(ready.path),
            "tracefs": str(ready.tracefs),
            "events": ready.events,
            "marks": ready.marks,
            "protocols": _protocols() if ready.marks else [],
            "targets": [t.model_dump() | {"extents": (extents or {}).get(t.name, ())} for t in targets],
            "seconds": seconds,
            "max_events": max_events,
            "save": None if save is None else str(save.absolute()),
        }
        try:
            trace = _core.trace(json.dumps(job))
        except FileExistsError as e:
            raise UsageError("cannot save the trace in", str(save), "it already exists", "give a new file") from e
        except (OSError, ValueError) as e:
            why = e.strerror or str(e) if isinstance(e, OSError) else str(e)
            raise RunFailed("cannot read the trace of", targets[0].name if targets else "connections", why) from e
        window = Window(trace, ready.absent)
        try:
            yield window
        finally:
            window.stop()
            # The instance cannot be removed while its buffers are open.
            while trace.wait(3600.0) is None:
                pass


def _protocols() -> list[dict[str, object]]:
    """Whose headers are read off the wire."""
    spoken = [scheme for scheme in SCHEMES.values() if scheme.messages]
    return [{"name": scheme.name, "rows": [m.row() for m in scheme.messages]} for scheme in spoken]


@dataclass(frozen=True)
class ReadTrace:
    """What a saved trace holds."""

    form: str
    figures: TraceFigures
    recording: TraceRecording | None
    notes: tuple[str, ...]
    waterfall: Waterfall | None


def read_trace(
    fd: int,
    path: Path,
    *,
    waterfall: bool = False,
    server: tuple[int, Path] | None = None,
    clock: tuple[int, int] | None = None,
) -> ReadTrace:
    """A saved trace or a text of blkparse, open for reading; with ``waterfall`` also that.

    ``server``: a trace that was saved on the server meanwhile; its requests are followed to there. ``clock``: how many
    ns its clock is said to be ahead, give or take. Raises `UsageError`.
    """
    what = "cannot read the trace"
    _check_head(fd, path)
    if server is not None:
        _check_head(*server)
        what = f"cannot follow requests from {path} to"
        path = server[1]
    try:
        other = None if server is None else f"/proc/self/fd/{server[0]}"
        text = _core.trace_read(f"/proc/self/fd/{fd}", waterfall, other, clock)
    except ValueError as e:
        raise UsageError(what, str(path), str(e), HINT if server is None else TWO_HINT) from e
    except OSError as e:
        raise UsageError(what, str(path), (e.strerror or str(e)).lower()) from e
    try:
        document = json.loads(text)
        figures = TraceFigures.model_validate(document["figures"])
        known = document["recording"] is not None
        told = TraceRecording.model_validate(document["recording"]) if known else None
        fallen = document["waterfall"]
        fall = None if fallen is None else Waterfall.model_validate(fallen)
    except ValidationError as e:
        raise UsageError(
            what, str(path), "its description does not have the form that strata trace writes", HINT
        ) from e
    other = document.get("other_actions", 0)
    notes = (f"{units.count(other)} lines of other actions (plugs, remaps …) were ignored",) if other else ()
    return ReadTrace(document["form"], figures, told, notes, fall)


def _check_head(fd: int, path: Path) -> None:
    """Of a saved trace the description, before it is parsed: its values take many times the bytes they stand in."""
    begin = os.pread(fd, _BEGIN_BYTES, 0)
    if not begin.startswith(MAGIC):
        if b"\0" in begin:
            raise UsageError("cannot read the trace", str(path), "it is neither a saved trace nor text", HINT)
        return
    length = int.from_bytes(begin[len(MAGIC) : len(MAGIC) + 4], "little")
    if length > _HEAD_MOST:
        why = f"its description is longer than the limit of {units.size(_HEAD_MOST)}"
        raise UsageError("cannot read the trace", str(path), why, HINT)
    head = os.pread(fd, length, len(MAGIC) + 4)
    try:
        parsing.json_of(head.decode("utf-8"))
    except ValueError as e:
        why = str(e) if isinstance(e, parsing.Malformed) else "its description is not UTF-8 text"
        raise UsageError("cannot read the trace", str(path), why, HINT) from e


def target(name: str, role: str, sys: Sys) -> TraceTarget | None:
    """A device by its name in /sys/class/block; None when it is not there.

    Requests carry the number of the whole disk, also those of a partition; what enters a partition carries the
    partition's number and the disk's sectors. A disk without a ``mq`` folder has no requests.
    """
    own = _number(block.devno_of(name, sys))
    if own is None:
        return None
    disk = block.parent(name, sys)
    if disk is None:
        return TraceTarget(name=name, dev=own, by_bio=_by_bio(name, sys), role=role)
    whole = _number(block.devno_of(disk, sys))
    start, size = sys.int(f"{BASE}/{name}/start"), sys.int(f"{BASE}/{name}/size")
    if whole is None or start is None or size is None:
        return None
    return TraceTarget(
        name=name, dev=whole, entrance=own, sectors=(start, start + size), by_bio=_by_bio(disk, sys), role=role
    )


def _number(devno: str | None) -> int | None:
    major, _, minor = (devno or "").partition(":")
    return int(major) << 20 | int(minor) if major.isdigit() and minor.isdigit() else None


def _by_bio(disk: str, sys: Sys) -> bool:
    return not sys.exists(f"{BASE}/{disk}/mq")
