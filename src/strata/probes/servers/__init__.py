"""Processes of the path: what a server there spends, waits for and moves, with all that belongs to it.

Reads    /proc/<pid>/stat, io and task/*/schedstat of the processes it is given, of those that listen on its ports (in
         the namespace of a node: on any), of their descendants, and of those in the same control group, where that is
         no user's session and not our own; /proc/*/fd for who listens, of every process once in a session, and in
         every sample the list of /proc.
Makes    ``server_cpu_seconds{process=…, mode=user|system}`` (s, counter), ``server_run_delay_seconds`` (s, counter:
         ready to run, and waiting), ``server_switches`` (times, counter: it was given a CPU),
         ``server_read_bytes``, ``server_written_bytes`` (B, counter: at the storage, not at the page cache),
         ``server_resident_bytes`` (B, gauge), ``server_processes`` (processes, gauge), ``server_busiest_thread`` (1,
         gauge: share of one CPU that the busiest thread took since the sample before; near 1 while others are
         idle: it is single-threaded, and full), each with ``{process=…}``.
Costs    376 µs per sample with 1 process of 1 thread, 16 µs for each thread more; looking for new processes takes at
         most 0.2 % of the time.
Needs    nothing for its own user's processes; root for others' I/O and for finding a listener that is not one's own.
Blind to servers inside the kernel (nfsd, LIO) and threads of it that work for a server; CPU time below a clock tick
         (10 ms); processes that this one descends from, as they have the whole session below them; where there are more
         than 64, those beyond each root and its newest, which came with the connections of the measurement.
         A child counts from its birth; one that ended stays counted, as its parent was told, else as it was seen last.
         The waits of one that ended after its last sample are lost.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from strata.model.counters import servers
from strata.probes.port import Column, PersistentFile, Probe, ProbeScope
from strata.probes.processes import TICK_S, Processes, group_members_file
from strata.probes.servers.account import Account, Key
from strata.probes.servers.find import listeners
from strata.probes.servers.spent import Spent, spent_of

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


PROCESSES_MOST = 64
"""Read in one sample, over all servers: what reads a server with a process for each of its clients must stay cheap."""


@dataclass
class _Server:
    """One root with its descendants, and who shares its control group (``group_members``).

    ``left``: those that are not read as there are too many; never again, or they would be counted from their birth.
    """

    pid: int
    group_members: PersistentFile | None
    account: Account
    left: set[Key] = field(default_factory=set)

    def read_of(self, there: Sequence[Key], room: int) -> list[Key]:
        """Whose counters are read now: the root, then the newest."""
        self.left.intersection_update(there)
        keys = sorted((k for k in there if k not in self.left), key=lambda k: (k[0] == self.pid, k[1]), reverse=True)
        self.left.update(keys[room:])
        return keys[:room]


class ServersProbe(Probe):
    """Of ``scope.pids`` and of the listeners on ``scope.ports`` in ``scope.netns``."""

    def __init__(self, scope: ProbeScope) -> None:
        super().__init__()
        self._sys = scope.sys
        self._own = os.getpid() if scope.sys.live else None
        self._processes = scope.processes or Processes(scope.sys)
        found = dict.fromkeys((*scope.pids, *listeners(scope)))
        # Whoever started us (a shell, a service manager) may listen too: we ourselves would be counted with it.
        self._line = set() if self._own is None else {self._own, *self._processes.above(self._own)}
        there = [pid for pid in found if pid not in self._line and self._processes.know(pid)]
        # A descendant of a root that was found too is counted with it.
        roots = [pid for pid in there if not self._processes.above(pid) & set(there)]
        began = int(time.clock_gettime(time.CLOCK_BOOTTIME) / TICK_S)
        read = roots[:PROCESSES_MOST]
        self._servers = [_Server(pid, self._group_members(pid, scope), Account(began)) for pid in read]
        self.absent = tuple(f"no process {pid}" for pid in scope.pids if pid not in there and pid not in self._line)
        if more := len(roots) - len(read):
            self.absent += (f"{more} more servers, because at most {PROCESSES_MOST} are read",)
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
        if self.closed:
            return [None] * len(self.columns)
        if self._servers:
            self._processes.look()
        values: list[float | None] = []
        taken = {pid for server in self._servers for pid in self._processes.descendants([server.pid])}
        # Who shares a group with a server may have been started by us.
        ours = self._line if self._own is None else self._line.union(self._processes.descendants([self._own]))
        room = PROCESSES_MOST
        for place, server in enumerate(self._servers, 1):
            # Who shares the group of two servers is counted with the first.
            group_members = [pid for pid in _numbers(server.group_members) if pid not in taken and pid not in ours]
            taken.update(members := list(self._processes.descendants([server.pid, *group_members])))
            keys = [(pid, self._processes.started(pid)) for pid in members]
            chosen = server.read_of(keys, room - (len(self._servers) - place))
            room -= len(chosen)
            alive = self._spent(server, chosen)
            if not alive:
                values += [None] * (len(servers.MODES) + len(_COUNTERS))
                continue
            row = server.account.sample(alive, time.monotonic_ns())
            values += row._replace(processes=row.processes + len(server.left))
        return values

    def _group_members(self, pid: int, scope: ProbeScope) -> PersistentFile | None:
        path = group_members_file(scope.sys, pid)
        return None if path is None else self.keep(path, scope)

    def _spent(self, server: _Server, keys: Sequence[Key]) -> dict[Key, Spent]:
        found = ((key, spent_of(self._sys, *key, server.account.last.get(key))) for key in keys)
        return {key: spent for key, spent in found if spent is not None}


def _numbers(file: PersistentFile | None) -> list[int]:
    return [] if file is None else [int(pid) for pid in file.read().split() if pid.isdigit()]


open_probe = ServersProbe
