"""What fio is given of a file or device: a descriptor that was opened and looked at here, and no name.

Handed a name, fio splits it at colons and, when the file is shorter than the range it writes to, removes the file
before it finds out that it may not make a new one. A descriptor's name under /proc can be opened and not removed.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from strata.engine.fio.command import last_byte
from strata.engine.native import hint
from strata.engine.port import Request
from strata.errors import RunFailed, UsageError
from strata.model.endpoint import EndpointKind
from strata.model.workload import Sync


class OpenedEndpoint(Protocol):
    """The endpoint of one request while fio runs: what fio is given of it, and what was in force."""

    @property
    def descriptors(self) -> tuple[int, ...]:
        """To be handed to the child under the same number."""

    @property
    def filename(self) -> str:
        """What to call it."""

    @property
    def environment(self) -> Mapping[str, str]:
        """What the child finds in its environment besides ours."""

    @property
    def direct(self) -> bool:
        """Whether it was reached unbuffered."""

    @property
    def sync(self) -> str:
        """``dsync`` where each write is durable."""

    @property
    def read_back(self) -> bool:
        """Whether that was seen, and not only asked for."""

    @property
    def differs(self) -> bool:
        """Whether it was seen to be otherwise than asked."""

    def look(self, pid: int) -> None:
        """Read back how the process ``pid`` opened it, until that was seen."""

    def after(self) -> None:
        """Once fio has ended. Raises `RunFailed` where the endpoint is not what it was."""


class Opened:
    """A file or device. Null and NBD have nothing to open here."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._fd = -1
        self._same: tuple[int, int, int] | None = None
        self.environment: Mapping[str, str] = {}
        self.flags: int | None = None
        """How fio has it open, as the kernel says; None until that was seen."""

    def __enter__(self) -> Opened:
        """Raises `RunFailed` when it cannot be opened as fio would open it, or is too short."""
        endpoint = self._request.endpoint
        if endpoint.path is None:
            return self
        if endpoint.kind is EndpointKind.BLOCK and self._request.workload.rw.writes and not self._request.allow_write:
            raise UsageError(
                "cannot write to", endpoint.uri, "raw devices are read-only", "strata measure --help: --destructive"
            )
        try:
            # A FIFO would otherwise be waited for.
            self._fd = os.open(endpoint.opened, self._asked() | os.O_NONBLOCK)
        except OSError as e:
            raise RunFailed("cannot open", endpoint.path, e.strerror or str(e), hint(e)) from e
        try:
            self._check(endpoint.path, endpoint.kind)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    @property
    def descriptors(self) -> tuple[int, ...]:
        """To be handed to the child under the same number."""
        return (self._fd,) if self._fd >= 0 else ()

    @property
    def filename(self) -> str:
        """What to call it."""
        return f"/proc/self/fd/{self._fd}"

    @property
    def direct(self) -> bool:
        """Whether fio's descriptor is unbuffered; as it was asked for where fio ended before it could be seen."""
        return bool((self._asked() if self.flags is None else self.flags) & os.O_DIRECT) and self._fd >= 0

    @property
    def sync(self) -> str:
        """``dsync`` where each write is durable."""
        return (
            "dsync" if self._fd >= 0 and (self._asked() if self.flags is None else self.flags) & os.O_DSYNC else "none"
        )

    @property
    def differs(self) -> bool:
        """Whether fio opened it otherwise than asked."""
        mask = (
            os.O_DIRECT | os.O_DSYNC | os.O_ACCMODE
            if not self._request.workload.rw.writes
            else os.O_DIRECT | os.O_DSYNC
        )
        return self.flags is not None and (self.flags ^ self._asked()) & mask != 0

    @property
    def read_back(self) -> bool:
        """Whether fio's open flags were seen."""
        return self.flags is not None

    def after(self) -> None:
        """Nothing: a descriptor stays what it was."""

    def look(self, pid: int) -> None:
        """Read back how the process ``pid`` opened it, until that was seen."""
        if self._fd < 0 or self.flags is not None:
            return
        process = Path(f"/proc/{pid}")
        try:
            for entry in (process / "fd").iterdir():
                if entry.name != str(self._fd) and _identity(entry.stat()) == self._same:
                    self.flags = _flags((process / "fdinfo" / entry.name).read_text())
                    return
        except OSError:
            # It ended, or a descriptor went away between the two looks: the next look tells.
            return

    def _asked(self) -> int:
        w = self._request.workload
        flags = (os.O_RDWR if w.rw.writes else os.O_RDONLY) | os.O_CLOEXEC
        flags |= os.O_DIRECT if w.direct else 0
        return flags | (os.O_DSYNC if w.sync is Sync.DSYNC else 0)

    def _check(self, path: str, kind: EndpointKind) -> None:
        found = os.fstat(self._fd)
        self._same = _identity(found)
        fits = stat.S_ISREG if kind is EndpointKind.FILE else stat.S_ISBLK
        if not fits(found.st_mode):
            what = "a regular file" if kind is EndpointKind.FILE else "a block device"
            raise RunFailed(
                "cannot drive", path, f"it is not {what}", "use file: for a regular file and block: for a block device"
            )
        size, end = os.lseek(self._fd, 0, os.SEEK_END), last_byte(self._request)
        if end > size:
            raise RunFailed("cannot drive", path, f"it ends at byte {size}, the range at byte {end}")


def _identity(found: os.stat_result) -> tuple[int, int, int]:
    # A device node's own inode is another one in each /dev; the number of the device is what counts.
    return (0, 0, found.st_rdev) if stat.S_ISBLK(found.st_mode) else (found.st_dev, found.st_ino, 0)


def _flags(fdinfo: str) -> int:
    """The open flags in octal, as `/proc/PID/fdinfo` gives them."""
    line = next(line for line in fdinfo.splitlines() if line.startswith("flags:"))
    return int(line.split()[1], 8)
