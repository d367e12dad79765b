"""A tracing instance of our own: made, told what to record, and removed."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from strata.errors import RunFailed
from strata.host import instances
from strata.model.trace import TraceTarget

EVENTS = (
    "block_bio_queue",
    "block_split",
    "block_bio_backmerge",
    "block_bio_frontmerge",
    "block_rq_merge",
    "block_rq_insert",
    "block_rq_issue",
    "block_rq_requeue",
    "block_rq_complete",
    "block_rq_error",
)
BY_BIO = ("block_bio_queue", "block_split", "block_bio_complete")
"""All a device without requests tells. Of others the end of an I/O would only repeat that of its request."""
NEEDED = frozenset({"block_rq_issue", "block_rq_complete"})
NEEDED_BY_BIO = frozenset({"block_bio_queue", "block_bio_complete"})
CALLS = (
    "read", "readv", "pread64", "preadv", "preadv2", "write", "writev", "pwrite64", "pwritev", "pwritev2",
    "fsync", "fdatasync", "sync_file_range", "recvfrom", "recvmsg", "sendto", "sendmsg",
    "io_uring_enter", "io_submit", "io_getevents", "io_pgetevents",
)  # fmt: skip
"""The system calls by which requests are made, and their data moved over a connection."""
PATH: tuple[tuple[tuple[str, ...], str | None], ...] = (
    *(((f"syscalls/sys_{side}_{name}",), None) for name in CALLS for side in ("enter", "exit")),
    # Named anew in Linux 6.4.
    (("io_uring/io_uring_submit_req", "io_uring/io_uring_submit_sqe"), None),
    (("io_uring/io_uring_queue_async_work",), None),
    (("io_uring/io_uring_complete",), None),
    (("sock/sock_send_length",), "protocol == 6"),
    (("sock/sock_recv_length",), "protocol == 6"),
    (("tcp/tcp_probe",), "data_len > 0"),
    (("sock/inet_sock_set_state",), "protocol == 6 && newstate == 1"),
    (("tcp/tcp_destroy_sock",), None),
    (("sched/sched_process_fork",), None),
)
"""What a waterfall needs beside the events of the block layer: each by its names, newest first, with its filter."""
REMOVAL_S = 5.0

_count = itertools.count()


@dataclass(frozen=True)
class ReadyInstance:
    """An instance that only has to be switched on."""

    path: Path
    tracefs: Path
    events: tuple[str, ...]
    absent: tuple[str, ...]
    marks: tuple[str, ...] = ()
    """Events beside the block layer's, with their groups."""


def check(what: str) -> Path:
    """Where tracefs is. Raises `RunFailed` where a trace cannot be had, before anything is made."""
    root = instances.tracefs()
    if root is None:
        raise RunFailed(
            "cannot trace", what, "tracefs is not mounted here", "mount -t tracefs tracefs /sys/kernel/tracing"
        )
    path = Path(root)
    if not os.access(path / "instances", os.W_OK):
        hint = "run it with sudo; a node: join it as root"
        raise RunFailed("cannot trace", what, "creating a tracing instance needs root", hint)
    if not (path / "events" / "block").is_dir():
        why = "this kernel has no events of the block layer (CONFIG_BLK_DEV_IO_TRACE)"
        hint = "use a kernel with these events, or read counters instead: strata measure"
        raise RunFailed("cannot trace", what, why, hint)
    return path


@contextmanager
def instance(targets: Sequence[TraceTarget], buffer_kib: int, path_too: bool = False) -> Iterator[ReadyInstance]:
    """An instance with a buffer of ``buffer_kib`` for each CPU, that records these devices; with ``path_too`` also the
    system calls and connections of the whole machine.

    It is written down before it is made, so that `strata clean` finds it after a crash. Raises `RunFailed`.
    """
    root = check(targets[0].name if targets else "connections")
    number = next(_count)
    name = f"{instances.PREFIX}{os.getpid()}" + (f"-{number}" if number else "")
    instances.note(name)
    path = root / "instances" / name
    try:
        path.mkdir()
        # Before anything is enabled: nothing comes in until the reader is there.
        _write(path, "tracing_on", "0")
        _write(path, "trace_clock", "mono")
        _write(path, "buffer_size_kb", str(buffer_kib))
        told = _told(path, root, targets)
        yield with_path(told) if path_too else told
    except OSError as e:
        where, why = str(e.filename or path), e.strerror or str(e)
        raise RunFailed("cannot set up tracing at", where, why.lower(), "strata clean removes what is left") from e
    finally:
        if _gone(root, name):
            instances.forget(name)


def _told(path: Path, root: Path, targets: Sequence[TraceTarget]) -> ReadyInstance:
    whole, bare = [t for t in targets if not t.by_bio], [t for t in targets if t.by_bio]
    events, absent = [], []
    for event in dict.fromkeys((*(EVENTS if whole else ()), *(BY_BIO if bare else ()))):
        followed = [*(whole if event in EVENTS else ()), *(bare if event in BY_BIO else ())]
        if not (path / "events" / "block" / event).is_dir():
            absent.append(event)
            continue
        numbers = dict.fromkeys(n for t in followed for n in (t.dev, t.entrance) if n is not None)
        _write(path, f"events/block/{event}/filter", " || ".join(f"dev == {n}" for n in numbers))
        _write(path, f"events/block/{event}/enable", "1")
        events.append(event)
    needed = (NEEDED if whole else frozenset()) | (NEEDED_BY_BIO if bare else frozenset())
    if missing := needed - set(events):
        raise RunFailed("cannot trace", targets[0].name, f"this kernel has no event {', '.join(sorted(missing))}")
    return ReadyInstance(path, root, tuple(events), tuple(absent))


def with_path(ready: ReadyInstance) -> ReadyInstance:
    """Enable what a waterfall needs too. Raises `RunFailed` where this kernel tells of no system call."""
    marks, absent = [], list(ready.absent)
    for names, only in PATH:
        name = next((n for n in names if (ready.path / "events" / n).is_dir()), None)
        if name is None:
            absent.append(names[0].rpartition("/")[2])
            continue
        if only is not None:
            _write(ready.path, f"events/{name}/filter", only)
        _write(ready.path, f"events/{name}/enable", "1")
        marks.append(name)
    if not any(name.startswith("syscalls/") for name in marks):
        why = "this kernel has no events of system calls (CONFIG_FTRACE_SYSCALLS)"
        raise RunFailed("cannot make a waterfall at", str(ready.path), why, "leave --waterfall out")
    return replace(ready, marks=tuple(marks), absent=tuple(absent))


def _write(path: Path, name: str, text: str) -> None:
    (path / name).write_text(text)


def _gone(root: Path, name: str) -> bool:
    """The kernel lets go of a buffer a moment after its last reader has."""
    deadline = time.monotonic() + REMOVAL_S
    while not instances.remove(str(root), name):
        if time.monotonic() > deadline:
            return False
        with suppress(InterruptedError):
            time.sleep(0.02)
    return True
