"""What a probe is, and a file that is read again and again."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from strata.host.proc import Sys
from strata.model.series import SeriesKind

_READ_BYTES = 1 << 16
_MAX_BYTES = 1 << 22


@dataclass(frozen=True)
class Column:
    """One number of each sample: becomes one `Series`."""

    metric: str
    unit: str
    kind: SeriesKind
    labels: Mapping[str, str] = field(default_factory=dict)


class Probe(Protocol):
    """One source of counters. Opened once, read many times, from one thread at a time."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """What `read` gives, in its order; fixed while the probe is open."""
        ...

    def read(self) -> Sequence[float | None]:
        """One value for each column; None where it could not be read this time. Never raises for a missing counter."""
        ...

    def close(self) -> None:
        """Gives its descriptors back. May be called again."""
        ...


Opener = Callable[[Sequence[str], Sys], Probe]
"""(device names, the kernel's files) -> a probe; with no columns when the machine has nothing for it."""


class Kept:
    """A file of /proc or /sys that stays open: reading it again is one pread, without a path look-up."""

    def __init__(self, path: str, sys: Sys) -> None:
        self._fd = -1
        with contextlib.suppress(OSError):
            self._fd = os.open(sys.at(path), os.O_RDONLY | os.O_CLOEXEC)

    def read(self) -> bytes:
        """All of it as it is now; empty when it is absent or gone (a device that was pulled)."""
        if self._fd < 0:
            return b""
        try:
            data = os.pread(self._fd, _READ_BYTES, 0)
            # Machines with hundreds of processors have a longer /proc/stat.
            while len(data) >= _READ_BYTES and len(data) % _READ_BYTES == 0 and len(data) < _MAX_BYTES:
                more = os.pread(self._fd, _READ_BYTES, len(data))
                if not more:
                    break
                data += more
            return data
        except OSError:
            return b""

    def close(self) -> None:
        """Gives the descriptor back."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
