"""A ring of short texts on disk: the newest of them, within bounds of bytes and of age, whatever ends the process.

Each text is a line with its time and a checksum, appended to a segment; a line that a crash cut off is left out when
it is read. Only whole segments are removed, the oldest first. Nothing is flushed: a process that is killed loses no
line, a machine that loses its power those that the kernel had not written yet.
"""

from __future__ import annotations

import errno
import os
import re
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from strata.errors import RunFailed
from strata.host.proc import descriptor
from strata.units import MIB, NS_PER_S

SEGMENT_BYTES = 256 << 10
LINE_MOST = 64 << 10
ABOUT_MOST = 4096
_ABOUT = "about"
_NAME = re.compile(r"(\d{1,20})\.lines")


class Ring:
    """In a directory of ours (`strata.host.xdg.state_dir`), which is made where it is missing."""

    def __init__(self, folder: Path, bytes_most: int = 64 * MIB, seconds_most: float = 24 * 3600.0) -> None:
        self._folder, self._bytes_most, self._seconds_most = folder, max(bytes_most, 2 * SEGMENT_BYTES), seconds_most
        self._segment: Path | None = None

    def about(self, text: str) -> None:
        """Keeps what the lines are of; said once. Raises `RunFailed`."""
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            with suppress(FileExistsError):
                fd = os.open(self._folder / _ABOUT, flags, 0o600)
                try:
                    os.write(fd, os.fsencode(text)[:ABOUT_MOST])
                finally:
                    os.close(fd)
        except OSError as e:
            raise RunFailed("cannot keep what is watched in", str(self._folder), e.strerror or str(e)) from e

    @property
    def subject(self) -> str | None:
        """What the lines are of; None where it was not kept."""
        try:
            with descriptor(self._folder / _ABOUT, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC) as fd:
                return os.fsdecode(os.read(fd, ABOUT_MOST)) or None
        except OSError:
            return None

    def append(self, at_ns: int, text: str) -> None:
        """One line more. Raises `RunFailed` where it cannot be written; `ValueError` for a text that is too long."""
        body = text.encode()
        if len(body) > LINE_MOST or b"\n" in body:
            raise ValueError(f"a line of a ring has at most {LINE_MOST} bytes and no line break")
        line = b"%d %08x %s\n" % (at_ns, zlib.crc32(body), body)
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            path = self._room_for(at_ns, len(line))
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            try:
                if os.write(fd, line) < len(line):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            finally:
                os.close(fd)
            self._trim(at_ns)
        except OSError as e:
            # Behind a line that was cut off the next one would be lost, too.
            self._segment = None
            raise RunFailed("cannot keep what was watched in", str(self._folder), e.strerror or str(e)) from e

    def lines(self, from_ns: int, to_ns: int) -> Iterator[tuple[int, str]]:
        """(time, text) of every whole line from one instant to another, in the order in which they were written."""
        segments = self._segments()
        for place, (begins, path) in enumerate(segments):
            after = segments[place + 1][0] if place + 1 < len(segments) else None
            if begins > to_ns or (after is not None and after < from_ns):
                continue
            for at, text in _whole(path):
                if from_ns <= at <= to_ns:
                    yield at, text

    @property
    def span(self) -> tuple[int, int] | None:
        """Times of the first and the last line; None where there is none."""
        segments = self._segments()
        first = next((at for _, path in segments for at, _ in _whole(path)), None)
        last = next((at for _, path in reversed(segments) for at, _ in reversed(list(_whole(path)))), None)
        return None if first is None or last is None else (first, last)

    def _segments(self) -> list[tuple[int, Path]]:
        try:
            names = os.listdir(self._folder)  # noqa: PTH208 - a name is all that is wanted
        except OSError:
            return []
        return sorted((int(found[1]), self._folder / name) for name in names if (found := _NAME.fullmatch(name)))

    def _room_for(self, at_ns: int, length: int) -> Path:
        """The segment that is written; a new one after a restart, so that no line stands behind one that was cut
        off.
        """
        if self._segment is None or _size(self._segment, gone=SEGMENT_BYTES) + length > SEGMENT_BYTES:
            self._segment = self._folder / f"{at_ns}.lines"
        return self._segment

    def _trim(self, now_ns: int) -> None:
        segments = self._segments()
        sizes = [_size(path) for _, path in segments]
        total = sum(sizes)
        for place, (_, path) in enumerate(segments[:-1]):
            old = segments[place + 1][0] < now_ns - self._seconds_most * NS_PER_S
            if total <= self._bytes_most and not old:
                return
            path.unlink(missing_ok=True)
            total -= sizes[place]


def _size(path: Path, gone: int = 0) -> int:
    """Another process that keeps the same path may have removed it."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return gone


def _whole(path: Path) -> Iterator[tuple[int, str]]:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return
    try:
        content = os.read(fd, 2 * SEGMENT_BYTES)
    finally:
        os.close(fd)
    for line in content.split(b"\n")[:-1]:
        at, _, rest = line.partition(b" ")
        crc, _, body = rest.partition(b" ")
        if at.isdigit() and len(at) <= 20 and crc == b"%08x" % zlib.crc32(body):
            yield int(at), body.decode("utf-8", "replace")
