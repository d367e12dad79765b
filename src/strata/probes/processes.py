"""The processes of this machine: who descends from whom, who shares a control group, and who holds a socket.

Not every kernel lists a process's children, so all parents are asked, each once.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from strata.host.cgroups import groups
from strata.host.proc import Sys
from strata.probes.paced import Paced

_STRANGERS = frozenset({"user.slice", "init.scope"})
"""Groups of a service manager in which programs are together that have nothing to do with each other."""


def fields_of(stat: str) -> list[str]:
    """The fields of /proc/<pid>/stat after the name, which may hold blanks and parentheses: the state is the first."""
    return stat.rpartition(")")[2].split()


class Processes:
    """Parents and start times by process number, kept between looks: only new numbers are read.

    The probes of one recording share it, so that each process is asked once for all of them.
    """

    def __init__(self, sys: Sys) -> None:
        self._sys = sys
        self._sockets: dict[str, list[int]] | None = None
        self._known: dict[int, tuple[int, int, str]] = {}
        self._children: dict[int, list[int]] = {}
        self._looks = Paced()
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
        there = {int(name) for name in _numbers(self._sys)}
        self._known = {pid: known for pid, known in self._known.items() if pid in there}
        for pid in there - self._known.keys():
            self.know(pid)
        self._children = {}
        for pid, (parent, _, _) in self._known.items():
            self._children.setdefault(parent, []).append(pid)

    def name(self, pid: int) -> str:
        """The kernel's name of it (15 characters)."""
        return self._known[pid][2]

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
        """Those that have the socket open, as far as they may be looked into; all are asked once, at the first call."""
        if self._sockets is None:
            self._sockets = _sockets_held()
        return tuple(self._sockets.get(f"socket:[{inode}]", ()))


def fellows_file(sys: Sys, pid: int) -> str | None:
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


def _numbers(sys: Sys) -> list[str]:
    try:
        # Twice as fast as paths, and asked in every sample.
        return [name for name in os.listdir(sys.at("/proc")) if name[0] in "123456789"]  # noqa: PTH208
    except OSError:
        return []


def _sockets_held() -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208 - names, thousands of them
        if not name.isdigit():
            continue
        try:
            fds = os.listdir(f"/proc/{name}/fd")  # noqa: PTH208
        except OSError:
            continue
        for fd in fds:
            try:
                held = os.readlink(f"/proc/{name}/fd/{fd}")  # noqa: PTH115
            except OSError:
                continue
            if held.startswith("socket:"):
                found.setdefault(held, []).append(int(name))
    return found
