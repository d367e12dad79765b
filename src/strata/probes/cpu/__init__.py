"""CPU time, of the machine and of this process.

Reads    /proc/stat, /proc/self/task/*/schedstat, the process's own CPU clock.
Makes    ``cpu_seconds{cpu=all|0|1…, mode=user|system|iowait|irq|softirq|steal|idle}`` (s, counter; user includes nice),
         ``process_cpu_seconds`` (s, counter), ``process_run_delay_seconds`` (s, counter: ready to run, and waiting).
Costs    308 µs per sample with 2 CPUs and 1 thread; grows with CPUs, interrupts and threads.
Needs    nothing; run delay needs CONFIG_SCHED_INFO (every distribution kernel).
Blind to anything shorter than a clock tick (usually 10 ms) in ``cpu_seconds``; threads that began and ended between two
         samples in run delay; child processes.
"""

from __future__ import annotations

import os
import time

from strata.host.proc import Sys
from strata.model.counters import cpu
from strata.probes.port import ProbeScope, TableProbe, Told
from strata.units import NS_PER_S

_TASKS = "/proc/self/task"


class CpuProbe(TableProbe):
    """Of the whole machine."""

    def __init__(self, scope: ProbeScope) -> None:
        super().__init__()
        self._sys = scope.sys
        self._stat = self.keep("/proc/stat", scope)
        self._tick_s = 1 / os.sysconf("SC_CLK_TCK")
        self._delay = RunDelay(scope.sys)
        self.begin()

    def told(self) -> Told:
        found: Told = {}
        # The ``cpu`` lines stand first; what follows them is not even split.
        for line in self._stat.read().split(b"\nintr", 1)[0].split(b"\n"):
            name, *fields = line.split()[:9] or [b""]
            if name.startswith(b"cpu") and len(fields) == 8:
                user, nice, system, idle, iowait, irq, softirq, steal = (int(f) * self._tick_s for f in fields)
                of, values = name[3:].decode() or "all", (user + nice, system, iowait, irq, softirq, steal, idle)
                found |= {(cpu.SECONDS, (of, mode)): s for mode, s in zip(cpu.MODES, values, strict=True)}
        found[cpu.OWN_SECONDS, ()] = time.process_time() if self._sys.live else None
        found[cpu.OWN_RUN_DELAY, ()] = self._delay.seconds()
        return found


class RunDelay:
    """Sums what all threads waited for a CPU, also those that have ended since."""

    def __init__(self, sys: Sys) -> None:
        self._sys = sys
        self._last: dict[str, int] = {}
        self._total_ns = 0

    def seconds(self) -> float | None:
        """None when the kernel does not tell."""
        now: dict[str, int] = {}
        for tid in self._sys.names(_TASKS):
            fields = (self._sys.text(f"{_TASKS}/{tid}/schedstat") or "").split()
            if len(fields) == 3 and fields[1].isdigit():
                now[tid] = int(fields[1])
        for tid, waited in now.items():
            before = self._last.get(tid, 0)
            # Less than before: a new thread was given the number of an old one.
            self._total_ns += waited - before if waited >= before else waited
        self._last = now
        return self._total_ns / NS_PER_S if now else None


open_probe = CpuProbe
