"""A tracing instance of our own: made, told what to record, and removed."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
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
REMOVAL_S = 5.0

_count = itertools.count()


@dataclass(frozen=True)
class ReadyInstance:
    """An instance that only has to be switched on."""

    path: Path
    tracefs: Path
    events: tuple[str, ...]
    absent: tuple[str, ...]


def check(what: str) -> Path:
    """Where tracefs is. Raises `RunFailed` where a trace cannot be had, before anything is made."""
    root = instances.tracefs()
    if root is None:
        raise RunFailed(
            "cannot trace", what, "tracefs is not mounted here", "mount -t tracefs tracefs /sys/kernel/tracing"
        )
    path = Path(root)
    if not os.access(path / "instances", os.W_OK):
        raise RunFailed("cannot trace", what, "creating a tracing instance needs root", "run it with sudo")
    if not (path / "events" / "block").is_dir():
        why = "this kernel has no events of the block layer (CONFIG_BLK_DEV_IO_TRACE)"
        hint = "use a kernel with these events, or read counters instead: strata measure"
        raise RunFailed("cannot trace", what, why, hint)
    return path


@contextmanager
def instance(targets: Sequence[TraceTarget], buffer_kib: int) -> Iterator[ReadyInstance]:
    """An instance with a buffer of ``buffer_kib`` for each CPU, that records these devices and nothing else.

    It is written down before it is made, so that `strata clean` finds it after a crash. Raises `RunFailed`.
    """
    root = check(targets[0].name)
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
        yield _told(path, root, targets)
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
