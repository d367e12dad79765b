"""Processes of the path: what a server there spends, waits for and moves, with all that belongs to it.

Reads    /proc/<pid>/stat, io and task/*/schedstat of the processes it is given, of those that listen on its ports (in
         the namespace of a node: on any), of their descendants, and of those in the same control group, where that is
         no user's session and not our own; once /proc/*/fd for who listens, and in every sample the list of /proc.
Makes    ``server_cpu_seconds{process=…, mode=user|system}`` (s, counter), ``server_run_delay_seconds`` (s, counter:
         ready to run, and waiting), ``server_switches`` (times, counter: it was given a processor),
         ``server_read_bytes``, ``server_written_bytes`` (B, counter: at the storage, not at the page cache),
         ``server_resident_bytes`` (B, gauge), ``server_processes`` (processes, gauge), ``server_busiest_thread`` (1,
         gauge: share of one processor that the busiest thread took since the sample before; near 1 while others are
         idle: it is single-threaded, and full), each with ``{process=…}``.
Costs    376 µs per sample with 1 process of 1 thread, 16 µs for each thread more; looking for new processes takes at
         most 0.2 % of the time.
Needs    nothing for its own user's processes; root for others' I/O and for finding a listener that is not one's own.
Blind to servers inside the kernel (nfsd, LIO) and threads of it that work for a server; CPU time below a clock tick
         (10 ms). A child counts from its birth; one that ended stays counted, as its parent was told, else as it was
         seen last. The waits of one that ended after its last sample are lost.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass

from strata.host.proc import Sys
from strata.model.counters import servers
from strata.probes.port import Column, Kept, Probe, Reader, Scope
from strata.probes.processes import Processes, fellows_file
from strata.probes.servers.account import Account, Key
from strata.probes.servers.find import listeners
from strata.probes.servers.spent import TICK_S, Spent, spent_of

OF_NODE = True

# In the order of what a server is read for, the modes of its processor time before them.
_COUNTERS = (
    servers.RUN_DELAY,
    servers.SWITCHES,
    servers.READ_BYTES,
    servers.WRITTEN_BYTES,
    servers.RESIDENT,
    servers.PROCESSES,
    servers.BUSIEST_THREAD,
)


@dataclass
class _Server:
    """One root with its descendants, and who shares its control group (``fellows``)."""

    pid: int
    fellows: Kept | None
    account: Account


class ServersProbe(Reader):
    """See the module."""

    def __init__(self, scope: Scope) -> None:
        super().__init__()
        self._sys: Sys | None = scope.sys
        self._own = os.getpid() if scope.sys.live else None
        self._processes = scope.processes or Processes(scope.sys)
        found = dict.fromkeys((*scope.pids, *listeners(scope)))
        there = [pid for pid in found if pid != self._own and self._processes.know(pid)]
        # A descendant of a root that was found too is counted with it.
        roots = [pid for pid in there if not self._processes.above(pid) & set(there)]
        began = int(time.clock_gettime(time.CLOCK_BOOTTIME) / TICK_S)
        self._servers = [_Server(pid, self._fellows(pid, scope), Account(began)) for pid in roots]
        self.absent = tuple(f"no process {pid}" for pid in scope.pids if pid not in there and pid != self._own)
        names: dict[str, int] = {}
        columns: list[Column] = []
        for server in self._servers:
            name = self._processes.name(server.pid)
            names[name] = names.get(name, 0) + 1
            label = {"process": name if names[name] == 1 else f"{name} {names[name]}"}
            columns += [Column(servers.CPU_SECONDS, {**label, "mode": mode}) for mode in servers.MODES]
            columns += [Column(counter, label) for counter in _COUNTERS]
        self.columns = tuple(columns)

    def read(self) -> Sequence[float | None]:
        if self._sys is None:
            return [None] * len(self.columns)
        if self._servers:
            self._processes.look()
        values: list[float | None] = []
        taken = {pid for server in self._servers for pid in self._processes.descendants([server.pid])}
        for server in self._servers:
            # Who shares the group of two servers is counted with the first.
            fellows = [pid for pid in _numbers(server.fellows) if pid not in taken and pid != self._own]
            taken.update(members := list(self._processes.descendants([server.pid, *fellows])))
            alive = self._spent(self._sys, server, members)
            if not alive:
                values += [None] * (len(servers.MODES) + len(_COUNTERS))
                continue
            row = server.account.sample(alive, time.monotonic_ns())
            values += [
                row.user_s,
                row.system_s,
                row.run_delay_s,
                row.switches,
                row.read_bytes,
                row.written_bytes,
                row.resident_bytes,
                row.processes,
                row.busiest,
            ]
        return values

    def close(self) -> None:
        super().close()
        self._sys = None

    def _fellows(self, pid: int, scope: Scope) -> Kept | None:
        path = fellows_file(scope.sys, pid)
        return None if path is None else self.keep(path, scope)

    def _spent(self, sys: Sys, server: _Server, members: Sequence[int]) -> dict[Key, Spent]:
        alive: dict[Key, Spent] = {}
        for pid in members:
            key = pid, self._processes.started(pid)
            spent = spent_of(sys, *key, server.account.last.get(key))
            if spent is not None:
                alive[key] = spent
        return alive


def _numbers(file: Kept | None) -> list[int]:
    return [] if file is None else [int(pid) for pid in file.read().split() if pid.isdigit()]


def open_probe(scope: Scope) -> Probe:
    """Of ``scope.pids`` and of the listeners on ``scope.ports`` in ``scope.netns``."""
    return ServersProbe(scope)
