"""Processes of the path: what a server spends, waits for and moves, its children included."""

from __future__ import annotations

from strata.model.counters.counter import Counter, Over, Scope
from strata.model.series import SeriesKind

MODES = ("user", "system")


def _grows(name: str, unit: str, words: str) -> Counter:
    return Counter(f"server_{name}", unit, SeriesKind.COUNTER, Scope.PROCESS, words)


CPU_SECONDS = Counter(
    "server_cpu_seconds",
    "s",
    SeriesKind.COUNTER,
    Scope.PROCESS,
    "CPU time of the server",
    parts={"mode": MODES},
)
RUN_DELAY = _grows("run_delay_seconds", "s", "time it was ready to run and waited for a CPU")
SWITCHES = _grows("switches", "times", "times that it was scheduled on a CPU")
READ_BYTES = _grows("read_bytes", "B", "bytes it read from the storage, not from the page cache")
WRITTEN_BYTES = _grows("written_bytes", "B", "bytes it wrote to the storage")
RESIDENT = Counter("server_resident_bytes", "B", SeriesKind.GAUGE, Scope.PROCESS, "resident memory")
BUSIEST_THREAD = Counter(
    "server_busiest_thread",
    "1",
    SeriesKind.GAUGE,
    Scope.PROCESS,
    "CPU share of its busiest thread, of one CPU",
    Over.MAX,
)
PROCESSES = Counter("server_processes", "processes", SeriesKind.GAUGE, Scope.PROCESS, "number of its processes")
