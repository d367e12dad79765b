"""Reading the small files of /proc and /sys: text or None, never an exception, never a guess."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

_PART = 1 << 16


@contextmanager
def descriptor(path: str | Path, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> Iterator[int]:
    """What `os.open` gives, until the block ends; no child inherits it. Raises `OSError`."""
    fd = os.open(path, flags | os.O_CLOEXEC, mode, dir_fd=dir_fd)
    try:
        yield fd
    finally:
        os.close(fd)


def read_text(path: str | Path) -> str | None:
    """The file's text without surrounding white space; None when it is absent or unreadable."""
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").strip()
    except (OSError, ValueError):
        return None


def lines_of(text: str) -> list[str]:
    """As the kernel ends them. `str.splitlines` would also break a line at what a name in it may hold (a form feed, a
    carriage return), and what comes behind it would be read as another line."""
    return text.split("\n") if text else []


def usable_cpus() -> tuple[int, ...]:
    """The CPUs on which this process may run."""
    return tuple(sorted(os.sched_getaffinity(0)))


@dataclass(frozen=True)
class Sys:
    """The kernel's files below ``root``: ``/`` on a live machine, a recorded tree in a test.

    Paths are written as on a live machine (``/sys/block/vda``). `missed` collects the files that exist and
    could not be read, so that a survey can say what it did not see.
    """

    root: Path = Path("/")
    missed: set[str] = field(default_factory=set, compare=False)

    @property
    def live(self) -> bool:
        """True on the running machine."""
        return self.root == Path("/")

    def at(self, path: str) -> Path:
        """Where ``path`` really lies."""
        return Path(self._place(path))

    def text(self, path: str) -> str | None:
        """As `read_text`; a file that is there and cannot be read is noted in `missed`."""
        try:
            # As bytes: a carriage return in a name that a user chose ends no line of the kernel's.
            return self._read(path).decode("utf-8", "replace").strip()
        except FileNotFoundError:
            return None
        except (OSError, ValueError):
            self.missed.add(path)
            return None

    def _place(self, path: str) -> str:
        return f"{str(self.root).rstrip('/')}/{path.lstrip('/')}"

    def _read(self, path: str) -> bytes:
        """Without `Path` and `open`, which take longer than the kernel does: a watching reads hundreds of them a minute
        for hours.
        """
        with descriptor(self._place(path), os.O_RDONLY) as fd:
            found = []
            while part := os.read(fd, _PART):
                found.append(part)
        return b"".join(found)

    def int(self, path: str) -> int | None:
        """The file's whole number; None when it is absent, unreadable or not a whole number."""
        text = self.text(path)
        try:
            return None if text is None else int(text)
        except ValueError:
            return None

    def lines(self, path: str) -> tuple[str, ...]:
        """The file's lines; none when it could not be read."""
        return tuple(lines_of(self.text(path) or ""))

    def names(self, path: str) -> tuple[str, ...]:
        """What the directory holds, sorted; nothing when it is absent or unreadable."""
        try:
            return tuple(sorted(os.listdir(self._place(path))))  # noqa: PTH208
        except FileNotFoundError:
            return ()
        except OSError:
            self.missed.add(path)
            return ()

    def exists(self, path: str) -> bool:
        """Whether something is there, links followed."""
        return os.path.exists(self._place(path))  # noqa: PTH110

    def real(self, path: str) -> str | None:
        """The path with every link followed, as on a live machine; None when it is absent."""
        try:
            found = self.at(path).resolve(strict=True)
        except OSError:
            return None
        return "/" + str(found.relative_to(self.root.resolve()))
