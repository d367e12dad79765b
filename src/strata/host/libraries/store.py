"""What a client library is asked for, whichever it is: the port of `rbd` and `gluster`."""

from __future__ import annotations

import ctypes
import errno
from typing import Protocol

Address = dict[str, str | None]


class Object(Protocol):
    """One image or file, open. Errors are `OSError`s with the library's errno."""

    def size(self) -> int:
        """Bytes."""

    def round_trip(self) -> None:
        """Ask the cluster for something that touches no data."""

    def read(self, offset: int, length: int) -> bytes:
        """Fewer bytes at the end."""

    def write(self, offset: int, data: bytes) -> None:
        """All of it; may be called from several threads."""

    def flush(self) -> None:
        """Everything written is durable when it returns."""

    def close(self) -> None:
        """Not usable any more."""


class ObjectStore(Protocol):
    """Where the objects are, connected."""

    def open(self, write: bool) -> Object:
        """The object of the address."""

    def create(self, size: int) -> None:
        """Makes it; EEXIST when anything is there."""

    def remove(self) -> None:
        """Takes it away by its name."""


def load(name: str, packages: str) -> ctypes.CDLL:
    """The shared library. Raises ELIBACC naming the packages that bring it."""
    try:
        return ctypes.CDLL(name, use_errno=True)
    except OSError as e:
        raise OSError(errno.ELIBACC, f"{name} cannot be loaded ({e}): install {packages}") from e
