"""One fio as a child of ours: started, listened to, stopped, reaped."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import select
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from strata.engine.fio.opened import OpenedEndpoint
from strata.engine.fio.reading import ReportReader
from strata.engine.fio.stream import Failures, Stream, merge_failures
from strata.engine.port import OnInterval, Request
from strata.errors import RunFailed
from strata.host.process import Child

LISTEN_S, PIPE_BYTES, READ_BYTES = 0.05, 1 << 20, 1 << 20
STARTUP_S, DRAIN_S, GRACE_S = 30.0, 30.0, 5.0
"""What fio may take to begin, and to end when its time is over (as the native engine's drain), and once told to."""

FATAL = frozenset(
    {
        *(errno.ENOSPC, errno.EDQUOT, errno.ENODEV),
        *(errno.ENOTCONN, errno.ESHUTDOWN, errno.EPIPE, errno.ECONNRESET),
    }
)
"""A full target, and a carrier that is lost: fio would go on failing at the speed of the CPU."""


@dataclass
class Carried:
    """What a fio said until it ended. ``code`` is its exit code, ``reason`` why it was ended, None: by itself."""

    reading: ReportReader
    stream: Stream
    begun_unix_ns: int
    failed_in_ramp: Failures = field(default_factory=dict)
    code: int | None = None
    reason: str | None = None
    killed: bool = False


def carry_out(
    argv: Callable[[str], list[str]],
    request: Request,
    opened: OpenedEndpoint,
    on_interval: OnInterval | None,
    stop_requested: Callable[[], bool],
) -> Carried:
    """Run it to its end. ``argv`` makes the command line from where the report shall go.

    Raises `RunFailed` when it cannot be started or opened the endpoint in another way than asked. Whatever ends
    this, the child has ended when it returns.
    """
    reader, writer = os.pipe()
    try:
        with contextlib.suppress(OSError):
            # So that fio need not wait for us; an ordinary user may have used up what pipes may hold.
            fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        os.set_blocking(reader, False)
        child = Child(
            argv(f"/dev/fd/{writer}"),
            {"LC_ALL": "C", **opened.environment},
            pass_fds=(writer, *opened.descriptors),
            # It says every failed I/O there as well.
            heard=False,
        )
        carried = Carried(ReportReader(request), Stream(), time.time_ns())
        child.start()
        try:
            os.close(writer)
            writer = -1
            _listen(child, reader, carried, opened, on_interval, stop_requested)
        except BaseException:
            child.interrupt()
            child.wait(GRACE_S)
            raise
        finally:
            carried.code = child.returncode
            child.stop(0.0 if carried.killed else GRACE_S)
        return carried
    finally:
        os.close(reader)
        if writer >= 0:
            os.close(writer)


def _listen(
    child: Child,
    reader: int,
    carried: Carried,
    opened: OpenedEndpoint,
    on_interval: OnInterval | None,
    stop_requested: Callable[[], bool],
) -> None:
    timing = carried.reading.request.timing
    deadline = time.monotonic() + STARTUP_S + timing.ramp_s + timing.runtime_s + DRAIN_S
    ended_at: float | None = None
    poll = select.poll()
    poll.register(reader, select.POLLIN)
    while True:
        said = os.read(reader, READ_BYTES) if poll.poll(LISTEN_S * 1000) else None
        documents = carried.stream.feed(said) if said else carried.stream.close() if said == b"" else []
        for document in documents:
            _take(carried, document, on_interval)
        if said == b"":
            child.wait(GRACE_S)
            return
        opened.look(child.pid)
        now = time.monotonic()
        if carried.reason is None:
            carried.reason = _why_end(carried, opened, stop_requested, late=now > deadline)
            if carried.reason is not None:
                child.interrupt()
                carried.reading.told_to_end(time.time_ns())
                ended_at = now
        elif ended_at is not None and now > ended_at + (GRACE_S if carried.reason == "stuck" else DRAIN_S):
            # Even what was told to end does not: an I/O that never comes back.
            carried.killed = True
            return


def _why_end(carried: Carried, opened: OpenedEndpoint, stop_requested: Callable[[], bool], *, late: bool) -> str | None:
    if opened.differs:
        return "differs"
    if any(number in FATAL for _, number in carried.stream.failures):
        return "error"
    if late:
        return "stuck"
    return "stopped" if stop_requested() else None


def _take(carried: Carried, document: dict[str, object], on_interval: OnInterval | None) -> None:
    if not isinstance(document.get("jobs"), list):
        raise RunFailed("cannot read the report of", "fio", "it holds no jobs", "check the version: fio --version")
    interval = carried.reading.take(document, carried.stream.failures)
    if not carried.reading.counting:
        merge_failures(carried.failed_in_ramp, carried.stream.forget_failures())
    if interval is not None and on_interval is not None:
        on_interval(interval)
