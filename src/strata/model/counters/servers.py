"""Processes of the path: what a server spends, waits for and moves, its children included."""

from __future__ import annotations

from strata.model.counters.counter import Family, Over, Scope

MODES = ("user", "system")
_SERVER = Family("server_", Scope.PROCESS)

CPU_SECONDS = _SERVER.grows("cpu_seconds", "s", "CPU time of the server", parts={"mode": MODES})
RUN_DELAY = _SERVER.grows("run_delay_seconds", "s", "time it was ready to run and waited for a CPU")
SWITCHES = _SERVER.grows("switches", "times", "times that it was scheduled on a CPU")
READ_BYTES = _SERVER.grows("read_bytes", "B", "bytes it read from the storage, not from the page cache")
WRITTEN_BYTES = _SERVER.grows("written_bytes", "B", "bytes it wrote to the storage")
RESIDENT = _SERVER.stands("resident_bytes", "B", "resident memory")
BUSIEST_THREAD = _SERVER.stands("busiest_thread", "1", "CPU share of its busiest thread, of one CPU", over=Over.MAX)
PROCESSES = _SERVER.stands("processes", "processes", "number of its processes")
