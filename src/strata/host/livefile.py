"""One line after the other in a file that others read while it grows, within a bound, and without waiting for a disk.

The writer holds a lock on its file for as long as it lives: the kernel lets go of it when the process dies, so a
reader can tell a run that goes on from one that was killed. Nothing is brought to the disk (no fsync): a line is for
who watches now, and what is measured may be that disk.

Beyond `MOST_BYTES` the file is replaced by a shorter one, which a reader sees by its inode, or by what stands before
the place that he had come to: a kernel gives the number of a file that is gone to the next one.
"""

from __future__ import annotations

import fcntl
import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from strata import units
from strata.host.atomic_write import OLD
from strata.host.proc import descriptor

MOST_BYTES = 2 * units.MIB
LINE_MOST = 64 * units.KIB
BEFORE = 256
"""Bytes by which a reader knows his place again: no point is told twice, so that they stand nowhere else."""
_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_APPEND

Shorter = Callable[[Sequence[bytes]], Sequence[bytes]]
"""From all lines to those that are kept."""


class LiveFile:
    """The writer's side. Made new, or in the place of one that nobody writes any more. Raises `OSError`."""

    def __init__(self, path: Path, shorter: Shorter) -> None:
        self._path, self._shorter = path, shorter
        self._fd, self._size = self._fresh(()), 0

    def add(self, line: bytes) -> None:
        """One more line. What is longer than `LINE_MOST` is left out. Raises `OSError`."""
        if len(line) >= LINE_MOST:
            return
        self._write(line + b"\n")
        if self._size > MOST_BYTES:
            with self._path.open("rb") as file:
                kept = self._shorter(file.read(2 * MOST_BYTES).splitlines())
            old, self._size = self._fd, 0
            self._fd = self._fresh(kept)
            os.close(old)

    def close(self) -> None:
        """The file is gone."""
        self._path.unlink(missing_ok=True)
        os.close(self._fd)

    def _write(self, data: bytes) -> None:
        # One call a line: a reader that comes in between sees whole lines, or the begin of the last one.
        os.write(self._fd, data)
        self._size += len(data)

    def _fresh(self, lines: Sequence[bytes]) -> int:
        """A new file under the name, locked before it can be seen."""
        beside = self._path.with_name(f".{self._path.name}.{secrets.token_hex(4)}.new")
        fd = os.open(beside, _NEW, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if lines:
                data = b"".join(line + b"\n" for line in lines)
                os.write(fd, data)
                self._size = len(data)
            beside.rename(self._path)
        except BaseException:
            os.close(fd)
            beside.unlink(missing_ok=True)
            raise
        return fd


@dataclass
class Position:
    """How far a reader has come: in which file, at which byte, and what stands ``before`` it."""

    inode: int = 0
    offset: int = 0
    before: bytes = b""


@dataclass(frozen=True)
class News:
    """``lines`` since the last look; ``anew``: from the beginning of another file. ``written``: its writer lives."""

    lines: tuple[bytes, ...]
    anew: bool
    written: bool


def news(path: Path, at: Position) -> News | None:
    """What was added since ``at``, which moves on; None where the file is gone."""
    try:
        with descriptor(path, OLD) as fd:
            inode, living = os.fstat(fd).st_ino, _locked(fd)
            anew = inode != at.inode or os.pread(fd, len(at.before), at.offset - len(at.before)) != at.before
            start = 0 if anew else at.offset
            data = os.pread(fd, 2 * MOST_BYTES + LINE_MOST, start)
    except OSError:
        return None
    whole = data[: data.rfind(b"\n") + 1]
    if anew or whole:
        at.inode, at.offset, at.before = inode, start + len(whole), whole[-BEFORE:]
    return News(tuple(whole.splitlines()), anew, living)


def living(folder: Path, suffix: str) -> tuple[Path, ...]:
    """The files of the folder whose writers live, the newest first; the others are removed."""
    found = []
    for path in folder.iterdir() if folder.is_dir() else ():
        if path.suffix != suffix or path.name.startswith("."):
            continue
        with suppress(OSError), descriptor(path, OLD) as fd:
            if _locked(fd):
                found.append((os.fstat(fd).st_mtime_ns, path))
            else:
                path.unlink(missing_ok=True)
    return tuple(path for _, path in sorted(found, reverse=True))


@contextmanager
def written(path: Path, shorter: Shorter) -> Iterator[LiveFile | None]:
    """A `LiveFile` for the block; None where there cannot be one: who watches must not cost the run."""
    try:
        file = LiveFile(path, shorter)
    except OSError:
        yield None
        return
    try:
        yield file
    finally:
        with suppress(OSError):
            file.close()


def _locked(fd: int) -> bool:
    """Whether a writer holds it."""
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    fcntl.flock(fd, fcntl.LOCK_UN)
    return False
