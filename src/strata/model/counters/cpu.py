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
    "processor time",
    parts={"mode": MODES},
    whole=("cpu", "all"),
)
OWN_SECONDS = Counter(
    "process_cpu_seconds",
    "s",
    SeriesKind.COUNTER,
    Scope.MACHINE,
    "processor time of this process, which makes the load",
)
OWN_RUN_DELAY = Counter(
    "process_run_delay_seconds",
    "s",
    SeriesKind.COUNTER,
    Scope.MACHINE,
    "this process was ready to run, and waited for a processor",
)
CYCLES = Counter(
    "cpu_cycles",
    "cycles",
    SeriesKind.COUNTER,
    Scope.PROCESSOR,
    "cycles, as the processor counts them",
    parts={"mode": RINGS},
)
INSTRUCTIONS = Counter(
    "cpu_instructions",
    "instructions",
    SeriesKind.COUNTER,
    Scope.PROCESSOR,
    "instructions, as the processor counts them",
    parts={"mode": RINGS},
)
FREQUENCY = Counter(
    "cpu_frequency_hz",
    "Hz",
    SeriesKind.GAUGE,
    Scope.PROCESSOR,
    "the processor's clock, and who says so",
    Over.MEAN,
    aspects={"source": ("cpufreq", "cpuinfo")},
)
