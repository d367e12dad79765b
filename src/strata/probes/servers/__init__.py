"""Processes of the path: what a server there spends, waits for and moves, its children included.

Reads    /proc/<pid>/stat, io, statm and task/*/schedstat of the processes it is given, of those that listen on its
         ports, and of their descendants.
Makes    ``server_cpu_seconds{process=…, mode=user|system}`` (s, counter), ``server_run_delay_seconds`` (s, counter:
         ready to run, and waiting), ``server_switches`` (times, counter: it was given a processor),
         ``server_read_bytes``, ``server_written_bytes`` (B, counter: at the storage, not at the page cache),
         ``server_resident_bytes`` (B, gauge), ``server_processes`` (processes, gauge), each with ``{process=…}``.
Costs    291 µs per sample with 1 process of 1 thread; every 2 s it looks for new children.
Needs    nothing for its own user's processes; root for others' I/O and for finding a listener that is not one's own.
Blind to kernel threads that work for it; CPU time below a clock tick (10 ms); children that came and went between two
         looks. What an ended child had spent stays counted.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from strata.host.proc import Sys
from strata.model.counters import servers
from strata.probes.port import Column, Probe, Reader, Scope
from strata.probes.servers.family import Families
from strata.probes.servers.find import listeners
from strata.probes.servers.spent import Spent, spent_of

OF_NODE = True

LOOK_EVERY_S = 2.0
# In the order of what a server is read for, the modes of its processor time before them.
_COUNTERS = (
    servers.RUN_DELAY,
    servers.SWITCHES,
    servers.READ_BYTES,
    servers.WRITTEN_BYTES,
    servers.RESIDENT,
    servers.PROCESSES,
)


@dataclass
class _Server:
    """One root with its descendants; ``last`` what each had spent when it was last seen."""

    pid: int
    last: dict[tuple[int, int], Spent] = field(default_factory=dict)


class ServersProbe(Reader):
    """See the module."""

    def __init__(self, scope: Scope) -> None:
        super().__init__()
        self._sys: Sys | None = scope.sys
        found = dict.fromkeys((*scope.pids, *(listeners(scope) if scope.ports else ())))
        own = os.getpid() if scope.sys.live else None
        self._families = Families(scope.sys)
        self._looked = float("-inf")
        roots = [pid for pid in found if pid != own and self._families.know(pid)]
        # A descendant of a root that was found too is counted with it.
        self._servers = [_Server(pid) for pid in roots if not self._families.above(pid) & set(roots)]
        self.absent = tuple(f"no process {pid}" for pid in scope.pids if pid not in roots and pid != own)
        names: dict[str, int] = {}
        columns: list[Column] = []
        for server in self._servers:
            name = self._families.name(server.pid)
            names[name] = names.get(name, 0) + 1
            label = {"process": name if names[name] == 1 else f"{name} {names[name]}"}
            columns += [Column(servers.CPU_SECONDS, {**label, "mode": mode}) for mode in servers.MODES]
            columns += [Column(counter, label) for counter in _COUNTERS]
        self.columns = tuple(columns)

    def read(self) -> Sequence[float | None]:
        if self._sys is None:
            return [None] * len(self.columns)
        now = time.monotonic()
        if self._servers and now - self._looked >= LOOK_EVERY_S:
            self._looked = now
            self._families.look()
        values: list[float | None] = []
        for server in self._servers:
            alive: list[Spent] = []
            for pid, start in self._families.descendants(server.pid):
                spent = spent_of(self._sys, pid, start, server.last.get((pid, start)))
                if spent is not None:
                    alive.append(spent)
                    server.last[pid, start] = spent
            if not alive:
                values += [None] * (len(servers.MODES) + len(_COUNTERS))
                continue
            every = list(server.last.values())
            values += [
                sum(s.user_s for s in every),
                sum(s.system_s for s in every),
                _sum([s.run_delay_s for s in every]),
                _sum([s.switches for s in every]),
                _sum([s.read_bytes for s in every]),
                _sum([s.written_bytes for s in every]),
                sum(s.resident_bytes for s in alive),
                len(alive),
            ]
        return values

    def close(self) -> None:
        super().close()
        self._sys = None


def _sum(values: Sequence[float | None]) -> float | None:
    known = [v for v in values if v is not None]
    return sum(known) if len(known) == len(values) else None


def open_probe(scope: Scope) -> Probe:
    """Of ``scope.pids`` and of the listeners on ``scope.ports`` in ``scope.netns``."""
    return ServersProbe(scope)
