"""What a probe is, what it is asked to look at, and a file that is read again and again."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from strata.host.netns import within
from strata.host.proc import Sys
from strata.model.counters import Counter
from strata.model.series import SeriesKind
from strata.probes.processes import Processes

_READ_BYTES = 1 << 16
_MAX_BYTES = 1 << 22


@dataclass(frozen=True)
class Column:
    """One number of each sample: becomes one `Series`. ``labels`` say of which thing: those that the counter declares.

    ``wraps_at``: where the kernel's own counter begins again at 0, in ``unit``; None for 64 bits, which no run sees.
    """

    counter: Counter
    labels: Mapping[str, str] = field(default_factory=dict)
    wraps_at: float | None = None

    def __post_init__(self) -> None:
        missing = [label for label in self.counter.labels if label not in self.labels]
        strange = [label for label in self.labels if not self.counter.knows(label)]
        if missing or strange:
            raise ValueError(f"{self.counter.name} is declared with other labels: {', '.join(missing + strange)}")

    @property
    def metric(self) -> str:
        """The counter's name."""
        return self.counter.name

    @property
    def unit(self) -> str:
        """The counter's unit."""
        return self.counter.unit

    @property
    def kind(self) -> SeriesKind:
        """Whether it only grows."""
        return self.counter.kind


@dataclass(frozen=True)
class Scope:
    """What a probe looks at.

    ``devices``: block devices, as ``vda`` or ``/dev/vda``; ``paths``: files or directories of the path; ``netns``: the
    network namespace (a path; None: the one it runs in); ``pids``: processes of the path; ``ports``: TCP ports of
    servers of the path, at whichever end; ``url``: OpenMetrics text of another machine; ``smb_conf``: the
    configuration of a Samba server here; ``stats``: statistics socket of a target of our own; ``processes``: what is
    known of this machine's, shared by the probes of one recording.
    """

    sys: Sys = field(default_factory=Sys)
    devices: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    netns: str | None = None
    pids: tuple[int, ...] = ()
    ports: tuple[int, ...] = ()
    url: str | None = None
    smb_conf: str | None = None
    stats: str | None = None
    processes: Processes | None = field(default=None, compare=False, repr=False)


class Probe(Protocol):
    """One source of counters. Opened once, read many times, from one thread at a time."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """What `read` gives, in its order. May grow at its end while the probe is open, never else."""
        ...

    @property
    def absent(self) -> tuple[str, ...]:
        """What this machine does not give and why, a clause each."""
        ...

    def read(self) -> Sequence[float | None]:
        """One value for each column; None where it could not be read this time. Never raises for a missing counter."""
        ...

    def close(self) -> None:
        """Gives its descriptors back. May be called again."""
        ...


class Reader:
    """What most probes have in common: no columns and nothing absent until they say so, and files to close."""

    def __init__(self) -> None:
        self.columns: tuple[Column, ...] = ()
        self.absent: tuple[str, ...] = ()
        self._kept: list[Kept] = []

    def keep(self, path: str, scope: Scope) -> Kept:
        """A file that stays open until the probe is closed."""
        made = Kept(path, scope.sys, scope.netns)
        self._kept.append(made)
        return made

    def read(self) -> Sequence[float | None]:
        """Nothing."""
        return ()

    def close(self) -> None:
        """Closes what was kept."""
        for file in self._kept:
            file.close()


Opener = Callable[[Scope], Probe]
"""What to look at -> a probe; with no columns when the machine has nothing for it."""


class Kept:
    """A file of /proc or /sys that stays open: reading it again is one pread, without a path look-up.

    Opened inside ``netns`` a file of /proc/net goes on speaking of that namespace.
    """

    def __init__(self, path: str, sys: Sys, netns: str | None = None) -> None:
        self._fd = -1
        with contextlib.suppress(OSError):
            self._fd = within(netns, lambda: os.open(sys.at(path), os.O_RDONLY | os.O_CLOEXEC))

    @property
    def there(self) -> bool:
        """Whether it could be opened."""
        return self._fd >= 0

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


def net_file(name: str, scope: Scope) -> str:
    """``/proc/net/dev`` as the asking thread's namespace has it; /proc/net itself is that of the process's first."""
    return f"/proc/thread-self/net/{name}" if scope.sys.live else f"/proc/net/{name}"
