"""Processors: time, cycles and clocks."""

from __future__ import annotations

from strata.model.counters.counter import Counter, Over, Scope
from strata.model.series import SeriesKind

MODES = ("user", "system", "iowait", "irq", "softirq", "steal", "idle")
"""Of processor time; ``user`` includes nice."""
IDLE_MODES = ("idle", "iowait")
"""Waiting for I/O is idleness: the processor could have done other work."""
KERNEL_MODES = ("system", "irq", "softirq")
RINGS = ("kernel", "user")

SECONDS = Counter(
    "cpu_seconds",
    "s",
    SeriesKind.COUNTER,
    Scope.PROCESSOR,
    "CPU time",
    parts={"mode": MODES},
    whole=("cpu", "all"),
)
OWN_SECONDS = Counter(
    "process_cpu_seconds",
    "s",
    SeriesKind.COUNTER,
    Scope.MACHINE,
    "CPU time of this process, which generates the load",
)
OWN_RUN_DELAY = Counter(
    "process_run_delay_seconds",
    "s",
    SeriesKind.COUNTER,
    Scope.MACHINE,
    "time this process was ready to run and waited for a CPU",
)
CYCLES = Counter(
    "cpu_cycles",
    "cycles",
    SeriesKind.COUNTER,
    Scope.PROCESSOR,
    "CPU cycles, from the hardware counter",
    parts={"mode": RINGS},
)
INSTRUCTIONS = Counter(
    "cpu_instructions",
    "instructions",
    SeriesKind.COUNTER,
    Scope.PROCESSOR,
    "instructions, from the hardware counter",
    parts={"mode": RINGS},
)
FREQUENCY = Counter(
    "cpu_frequency_hz",
    "Hz",
    SeriesKind.GAUGE,
    Scope.PROCESSOR,
    "clock of the CPU, by source",
    Over.MEAN,
    aspects={"source": ("cpufreq", "cpuinfo")},
)
