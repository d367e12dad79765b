"""CPUs: time, cycles and clocks."""

from __future__ import annotations

from strata.model.counters.counter import Family, Over, Scope

MODES = ("user", "system", "iowait", "irq", "softirq", "steal", "idle")
"""Of CPU time; ``user`` includes nice."""
IDLE_MODES = ("idle", "iowait")
"""Waiting for I/O is idleness: the CPU could have done other work."""
KERNEL_MODES = ("system", "irq", "softirq")
RINGS = ("kernel", "user")

_CPU, _OWN = Family("cpu_", Scope.PROCESSOR), Family("process_", Scope.MACHINE)

SECONDS = _CPU.grows("seconds", "s", "CPU time", parts={"mode": MODES}, whole=("cpu", "all"))
OWN_SECONDS = _OWN.grows("cpu_seconds", "s", "CPU time of this process, which generates the load")
OWN_RUN_DELAY = _OWN.grows("run_delay_seconds", "s", "time this process was ready to run and waited for a CPU")
CYCLES = _CPU.grows("cycles", "cycles", "CPU cycles, from the hardware counter", parts={"mode": RINGS})
INSTRUCTIONS = _CPU.grows(
    "instructions", "instructions", "instructions, from the hardware counter", parts={"mode": RINGS}
)
FREQUENCY = _CPU.stands(
    "frequency_hz", "Hz", "clock of the CPU, by source", over=Over.MEAN, aspects={"source": ("cpufreq", "cpuinfo")}
)
