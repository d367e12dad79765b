"""What a probe is, what it is asked to look at, and a file that is read again and again."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

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
        strange = [label for label in self.labels if label not in self.counter.known]
        if missing or strange:
            raise ValueError(f"{self.counter.name} is declared with other labels: {', '.join(missing + strange)}")

    @property
    def metric(self) -> str:
        """The counter's name."""
        return self.counter.name

    @property
    def unit(self) -> str:
        return self.counter.unit

    @property
    def kind(self) -> SeriesKind:
        """Whether it only grows."""
        return self.counter.kind


@dataclass(frozen=True)
class ProbedNode:
    """A station of the path whose counters are read: this machine, a network namespace of it, or another machine.

    ``name`` becomes the label ``node`` of its columns; None: no label, this machine as it is. ``url`` stands for a
    machine that is not this one; nothing else is read there. The others are as in `ProbeScope`.
    """

    name: str | None = None
    netns: str | None = None
    pids: tuple[int, ...] = ()
    ports: tuple[int, ...] = ()
    smb_conf: str | None = None
    stats: str | None = None
    url: str | None = None

    def scope(
        self, sys: Sys, devices: Sequence[str], paths: Sequence[str], processes: Processes | None = None
    ) -> ProbeScope:
        """What the probes of this node look at."""
        own = {key: value for key, value in vars(self).items() if key != "name"}
        return ProbeScope(sys, tuple(devices), tuple(paths), processes=processes, **own)


@dataclass(frozen=True)
class ProbeScope:
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

    @property
    def device_names(self) -> tuple[str, ...]:
        """As in /sys/class/block, each once."""
        return tuple(dict.fromkeys(d.removeprefix("/dev/").replace("/", "!") for d in self.devices))


class Probe:
    """One source of counters. Opened once, read many times, from one thread at a time.

    ``columns``: what `read` gives, in its order; may grow at its end while the probe is open, and lose what `forget`
    names, never else. ``absent``: what this machine does not give and why, a clause each. ``idle``: nothing moves of
    what it reads; a probe with a pace of its own is then read less often.
    """

    def __init__(self) -> None:
        self.columns: tuple[Column, ...] = ()
        self.absent: tuple[str, ...] = ()
        self.closed = False
        self.idle = False
        self._kept = contextlib.ExitStack()

    def keep(self, path: str, scope: ProbeScope) -> PersistentFile:
        """A file that stays open until the probe is closed."""
        made = PersistentFile(path, scope.sys, scope.netns)
        self._kept.callback(made.close)
        return made

    def read(self) -> Sequence[float | None]:
        """One value for each column; None where it could not be read this time. Never raises for a missing counter."""
        return ()

    def forget(self) -> Collection[int]:
        """Drops columns of what has gone, where it needs room, and says which they were, by their places; asked when
        what was read has been taken.
        """
        return ()

    def close(self) -> None:
        """Gives its descriptors back; nothing is read from here on. May be called again."""
        self.closed = True
        self._kept.close()


Key = tuple[Counter, tuple[str, ...]]
"""A counter, and the values of its labels in the order in which it declares them."""
Told = dict[Key, float | None]


class TableProbe(Probe):
    """A probe that tells all its values at once; its columns are those that it told when it was opened."""

    wraps: Mapping[Counter, float] = {}

    def told(self) -> Told:
        """Every value that there is now; None where it could not be read."""
        raise NotImplementedError

    def begin(self) -> None:
        """What it tells now are the columns."""
        self._keys = tuple(self.told())
        self.columns = tuple(
            Column(counter, dict(zip(counter.labels, of, strict=True)), self.wraps.get(counter))
            for counter, of in self._keys
        )

    def read(self) -> Sequence[float | None]:
        found = self.told() if self._keys and not self.closed else {}
        return [found.get(key) for key in self._keys]


Opener = Callable[[ProbeScope], Probe]
"""What to look at -> a probe; with no columns when the machine has nothing for it."""


class PersistentFile:
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

    def pairs(self) -> dict[bytes, bytes]:
        """Of a file of names, each with a number behind it."""
        fields = self.read().split()
        return dict(zip(fields[::2], fields[1::2], strict=False))

    def close(self) -> None:
        """Gives the descriptor back."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def net_file(name: str, scope: ProbeScope) -> str:
    """``/proc/net/dev`` as the asking thread's namespace has it; /proc/net itself is that of the process's first."""
    return f"/proc/thread-self/net/{name}" if scope.sys.live else f"/proc/net/{name}"
