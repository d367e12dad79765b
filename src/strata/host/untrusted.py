"""Files that somebody else wrote: opened without waiting, of a kind that can be read, and never beyond a bound.

Every file that is named on a command line and read goes through here. A named pipe, a device or a socket is refused: it
may give nothing for ever, or something for ever. A pipe that whoever started us holds open (``/dev/stdin``,
``<(command)``) is read like a file.

Raises `UsageError` (exit 2) with ``what`` as its first words.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from strata import units
from strata.errors import UsageError

WORDS_MOST = units.MIB
"""Bytes of what people write by hand: stack files, profiles, configurations."""
TEXT_MOST = 4 * units.MIB
"""Bytes of job files and of notes with command lines."""
TABLE_MOST = 64 * units.MIB
"""Bytes of tables and results of other tools."""
_PIECE = units.MIB

KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFIFO: "a fifo",
    stat.S_IFSOCK: "a socket",
    stat.S_IFBLK: "a block device",
    stat.S_IFCHR: "a character device",
}


def kind_of(mode: int) -> str:
    """What a file that is no regular one is, with its article."""
    return KINDS.get(stat.S_IFMT(mode), "not a regular file")


@contextmanager
def opened(path: Path | str, what: str, most: int, hint: str = "") -> Iterator[int]:
    """A descriptor of at most ``most`` bytes that can be read from any place; a pipe is read to its end first."""
    try:
        with _looked_at(path) as (handle, found):
            # What is not looked at first might wind a tape, or wait for a writer.
            piped = stat.S_ISFIFO(found.st_mode) and _held_open(found)
            if not piped:
                _regular(found, path, what, hint)
            if found.st_size > most:
                raise _too_long(what, path, most)
            fd = os.open(f"/proc/self/fd/{handle}", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as e:
        raise _refused(what, path, e, hint) from e
    try:
        if not piped:
            yield fd
            return
        os.set_blocking(fd, True)
        with tempfile.TemporaryFile(prefix="strata-") as kept:
            for piece in _pieces(fd, what, path, most):
                kept.write(piece)
            kept.flush()
            yield kept.fileno()
    finally:
        os.close(fd)


def bytes_of_regular(path: Path | str, what: str, hint: str = "") -> int:
    """How long a regular file is. It is not opened to be read: closing it would end every lock that we have on it."""
    try:
        with _looked_at(path) as (_, found):
            _regular(found, path, what, hint)
            return found.st_size
    except (OSError, ValueError) as e:
        raise _refused(what, path, e, hint) from e


@contextmanager
def _looked_at(path: Path | str) -> Iterator[tuple[int, os.stat_result]]:
    """What the name leads to, held but not opened, and what it is."""
    handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        yield handle, os.fstat(handle)
    finally:
        os.close(handle)


def _regular(found: os.stat_result, path: Path | str, what: str, hint: str) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise UsageError(what, str(path), f"it is {kind_of(found.st_mode)}", hint or "give a regular file")


def read_bytes(path: Path | str, what: str, most: int, hint: str = "") -> bytes:
    """All of it. A file that says it is empty, as those of the kernel do, is read as well."""
    with opened(path, what, most, hint) as fd:
        os.lseek(fd, 0, os.SEEK_SET)
        return b"".join(_pieces(fd, what, path, most))


def read_text(path: Path | str, what: str, most: int, hint: str = "") -> str:
    """All of it as UTF-8."""
    return decoded(read_bytes(path, what, most, hint), what, path, hint)


def decoded(content: bytes, what: str, path: Path | str, hint: str = "") -> str:
    """Bytes of the file ``path`` as UTF-8 text; an error says where they are none."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as e:
        line = content.count(b"\n", 0, e.start) + 1
        why = f"it is not UTF-8 text: byte {e.start} (line {line}) is {content[e.start]:#04x}"
        raise UsageError(what, str(path), why, hint or "save it as UTF-8 text") from e


def _pieces(fd: int, what: str, path: Path | str, most: int) -> Iterator[bytes]:
    read = 0
    try:
        while piece := os.read(fd, min(_PIECE, most + 1 - read)):
            read += len(piece)
            if read > most:
                raise _too_long(what, path, most)
            yield piece
    except OSError as e:
        raise _refused(what, path, e, "") from e


def _held_open(found: os.stat_result) -> bool:
    """Whether a pipe has no name: then somebody gave it to us with its writer."""
    ends = os.pipe()
    try:
        return os.fstat(ends[0]).st_dev == found.st_dev
    finally:
        for end in ends:
            os.close(end)


def _too_long(what: str, path: Path | str, most: int) -> UsageError:
    why = f"it is larger than the limit of {units.size(most)}"
    return UsageError(what, str(path), why, "keep only the part to read")


def _refused(what: str, path: Path | str, error: OSError | ValueError, hint: str) -> UsageError:
    if isinstance(error, BlockingIOError):
        return UsageError(what, str(path), "reading it returned no data", hint or "copy it to a regular file")
    why = (getattr(error, "strerror", None) or str(error)).lower()
    return UsageError(what, str(path), why, hint or "give a file that you may read")
