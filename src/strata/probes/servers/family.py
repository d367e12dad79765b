"""Who descends from whom. Not every kernel lists a process's children, so all parents are asked, each once."""

from __future__ import annotations

from collections.abc import Iterator

from strata.host.proc import Sys
from strata.probes.servers.spent import fields_of


class Families:
    """Parents and start times by process number, kept between looks: only new numbers are read."""

    def __init__(self, sys: Sys) -> None:
        self._sys = sys
        self._known: dict[int, tuple[int, int, str]] = {}
        self._children: dict[int, list[int]] = {}

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
        """Reads every process that is new since the last look, and forgets those that are gone."""
        there = {int(name) for name in self._sys.names("/proc") if name.isdigit()}
        self._known = {pid: known for pid, known in self._known.items() if pid in there}
        self._children = {}
        for pid in there:
            if self.know(pid):
                self._children.setdefault(self._known[pid][0], []).append(pid)

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

    def descendants(self, pid: int) -> Iterator[tuple[int, int]]:
        """(number, start time) of the process and all below it, as far as they were looked at."""
        todo, done = [pid], {pid}
        while todo:
            at = todo.pop()
            if at in self._known:
                yield at, self._known[at][1]
            for child in self._children.get(at, ()):
                if child not in done:
                    done.add(child)
                    todo.append(child)
