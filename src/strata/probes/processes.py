"""The processes of this machine: who descends from whom, who shares a control group, and who holds a socket.

Not every kernel lists a process's children, so all parents are asked, each once.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from strata.host.cgroups import groups
from strata.host.proc import Sys
from strata.model.groups import grouped

TICK_S = 1 / os.sysconf("SC_CLK_TCK")
"""The unit of CPU time in /proc."""
_STRANGERS = frozenset({"user.slice", "init.scope"})
"""Groups of a service manager in which programs are together that have nothing to do with each other."""
_STALE_S = 10.0
"""Without a look for so long, all numbers may have been given out again, and nothing that was known holds."""
SHARE = 0.002
"""Of the time that may go into looking: with thousands of processes or connections it is done less often."""
_STREAMS = 2
"""The last descriptor of a standard stream."""
_FREE = 2
"""The first look asks for everything, which says nothing of the price of the next; the second one comes when the
measurement has just begun, and with it its connections."""


class Paced:
    """Looks for what is new, as often as a sample is taken, and never more than a small share of the time.

    ``if looks.due: with looks.timed(): …``
    """

    def __init__(self) -> None:
        self._done = 0
        self._next_s = float("-inf")

    @property
    def due(self) -> bool:
        """Whether it may be done now."""
        return self._done < _FREE or time.monotonic() >= self._next_s

    @contextlib.contextmanager
    def timed(self) -> Iterator[None]:
        """Around one look."""
        begun = time.monotonic()
        try:
            yield
        finally:
            now = time.monotonic()
            self._done += 1
            self._next_s = now if self._done < _FREE else now + (now - begun) / SHARE


def fields_of(stat: str) -> list[str]:
    """The fields of /proc/<pid>/stat after the name, which may hold blanks and parentheses: the state is the first."""
    return stat.rpartition(")")[2].split()


def start_of(sys: Sys, pid: int) -> int | None:
    """When it began, in clock ticks since boot; None where nobody has the number."""
    fields = fields_of(sys.text(f"/proc/{pid}/stat") or "")
    return int(fields[19]) if len(fields) >= 22 else None


class Processes:
    """Parents and start times by process number, kept between looks: only new numbers are read.

    The probes of one recording share it, and the recordings of one session, so that each process is asked once for all
    of them. Whoever has a socket is looked for among those that came since, as long as who had it still has it.
    """

    def __init__(self, sys: Sys) -> None:
        self._sys = sys
        self._holders: dict[str, set[int]] = {}
        self._walked: dict[int, int] = {}
        self._known: dict[int, tuple[int, int, str]] = {}
        self._children: dict[int, list[int]] = {}
        self._given: int | None = None
        self._looked_s = float("-inf")
        self.begin()

    def begin(self) -> None:
        """A recording begins: who listens is asked anew, and who has gone is forgotten."""
        if self._known:
            self._look()
        self._looks = Paced()
        self._fresh: dict[int, frozenset[str]] = {}
        self._asked_new = self._asked_all = False
        self.listening: dict[tuple[str | None, tuple[int, ...]], tuple[int, ...]] = {}
        """Who listens, by namespace and ports, once it was asked."""

    def know(self, pid: int) -> bool:
        """Reads one process; False where it is not there."""
        if pid not in self._known:
            text = self._sys.text(f"/proc/{pid}/stat") or ""
            fields = fields_of(text)
            if len(fields) < 22:
                return False
            name = text.partition("(")[2].rpartition(")")[0]
            self._known[pid] = int(fields[1]), int(fields[19]), name
        return True

    def look(self) -> None:
        """Reads every process that is new since the last look, and forgets those that are gone, if it is due."""
        if self._looks.due:
            with self._looks.timed():
                self._look()

    def _look(self) -> None:
        now, given = time.monotonic(), self._last_given()
        there = {int(name) for name in names_in(self._sys.at("/proc")) if name[0] in "123456789"}
        if now - self._looked_s > _STALE_S:
            there_still = set[int]()
        else:
            there_still = {pid for pid in there if not _between(pid, self._given, given)}
        # Whose parent has gone was given another one.
        parents = there_still | {0}
        self._known = {p: known for p, known in self._known.items() if p in there_still and known[0] in parents}
        self._looked_s, self._given = now, given
        for pid in there - self._known.keys():
            self.know(pid)
        self._children = grouped((parent, pid) for pid, (parent, _, _) in self._known.items())

    def name(self, pid: int) -> str:
        """The kernel's name of it (15 characters)."""
        return self._known[pid][2]

    def parent(self, pid: int) -> int | None:
        """Who started it, or took it over; None where it is not there."""
        return self._known[pid][0] if self.know(pid) else None

    def above(self, pid: int) -> set[int]:
        """Its ancestors."""
        found: set[int] = set()
        while pid in self._known or self.know(pid):
            pid = self._known[pid][0]
            if pid in found or pid == 0:
                break
            found.add(pid)
        return found

    def started(self, pid: int) -> int:
        """When it began, in clock ticks since boot: with its number it names it for ever."""
        return self._known[pid][1]

    def descendants(self, pids: Iterable[int]) -> Iterator[int]:
        """The processes and all below them, as far as they were looked at, each once."""
        todo = list(pids)
        done = set(todo)
        while todo:
            at = todo.pop()
            if at in self._known:
                yield at
            for child in self._children.get(at, ()):
                if child not in done:
                    done.add(child)
                    todo.append(child)

    def holding(self, inode: int) -> tuple[int, ...]:
        """Those that have the socket open, as far as they may be looked into.

        Who came since the last recording is asked at the first call; all are, where nobody is known to have it.
        """
        if not self._asked_new:
            self._look()
            self._asked_new, self._asked_all = True, not self._walked
            self._walk(pid for pid, (_, started, _) in self._known.items() if self._walked.get(pid) != started)
        name = f"socket:[{inode}]"
        if not self._asked_all and not self._have_it(name):
            self._asked_all = True
            self._holders, self._walked = {}, {}
            self._walk(self._known)
        return tuple(sorted(self._holders.get(name, ())))

    def _have_it(self, name: str) -> bool:
        """Whether somebody is known to have the socket, and all of them still do."""
        pids = self._holders.get(name, set())
        for pid in pids - self._fresh.keys():
            self._fresh[pid] = sockets_of(pid)
        return bool(pids) and all(name in self._fresh[pid] for pid in pids)

    def _walk(self, pids: Iterable[int]) -> None:
        for pid in pids:
            self._walked[pid] = self.started(pid)
            self._fresh[pid] = sockets_of(pid)
            for name in self._fresh[pid]:
                self._holders.setdefault(name, set()).add(pid)

    def _last_given(self) -> int | None:
        """The process number that was given out last; None where that is not told."""
        told = (self._sys.text("/proc/loadavg") or "").split()
        return int(told[4]) if len(told) == 5 and told[4].isdigit() else None


def group_members_file(sys: Sys, pid: int) -> str | None:
    """The ``cgroup.procs`` of the group in which a service manager or an administrator has put the process.

    None where that is the root, a user's session, or the group that this process is in: the others there are strangers.
    """
    own = {name for _, name in groups(sys)}
    # Not the groups above it: they hold other services.
    mine = {line.split(":", 2)[-1] for line in sys.lines(f"/proc/{pid}/cgroup")} - own
    for directory, name in groups(sys, pid):
        if name in mine and not _STRANGERS & set(name.split("/")) and sys.exists(f"{directory}/cgroup.procs"):
            return f"{directory}/cgroup.procs"
    return None


def names_in(folder: str | Path) -> list[str]:
    """What the directory holds; nothing when it may not be looked into or has gone."""
    try:
        # Twice as fast as paths, and asked in every sample.
        return os.listdir(folder)  # noqa: PTH208
    except OSError:
        return []


def _between(pid: int, before: int | None, now: int | None) -> bool:
    """Whether the number was given out since: they go up, and begin again below."""
    if before is None or now is None:
        return False
    return before < pid <= now if before <= now else pid > before or pid <= now


def sockets_of(pid: int, streams: bool = True) -> frozenset[str]:
    """``socket:[inode]`` of each that the process has open; none where it may not be looked into. ``streams``: its
    standard streams, too.
    """
    found = set()
    for fd in names_in(f"/proc/{pid}/fd"):
        if streams or int(fd) > _STREAMS:
            with contextlib.suppress(OSError):
                found.add(os.readlink(f"/proc/{pid}/fd/{fd}"))  # noqa: PTH115
    return frozenset(held for held in found if held.startswith("socket:"))
