"""Who else is using the machine: two looks at the kernel's counters, and what grew in between."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from strata.host.proc import Sys
from strata.model.survey import Load


@dataclass(frozen=True)
class Look:
    """The counters at one instant: clock ticks of all CPUs, requests per device, bytes per interface."""

    at_ns: int
    busy: int = 0
    steal: int = 0
    total: int = 0
    requests: dict[str, int] = field(default_factory=dict)
    net_bytes: dict[str, int] = field(default_factory=dict)


def look(sys: Sys, now: Callable[[], int] = time.monotonic_ns) -> Look:
    """One look. A file that cannot be read leaves its counters empty."""
    first = (sys.lines("/proc/stat") or ("",))[0].split()
    # user nice system idle iowait irq softirq steal; guest time is already within user and nice.
    ticks = [int(t) for t in first[1:9]] if len(first) >= 9 else [0] * 8
    idle = ticks[3] + ticks[4]
    rows = [line.split() for line in sys.lines("/proc/diskstats")]
    nets = [line.partition(":") for line in sys.lines("/proc/net/dev") if ":" in line]
    return Look(
        at_ns=now(),
        busy=sum(ticks) - idle,
        steal=ticks[7],
        total=sum(ticks),
        requests={r[2]: int(r[3]) + int(r[7]) for r in rows if len(r) >= 8},
        net_bytes={name.strip(): _both_ways(rest) for name, _, rest in nets},
    )


def between(first: Look, last: Look, load1: float) -> Load:
    """What happened between two looks. Devices and interfaces that did nothing are left out."""
    seconds = max((last.at_ns - first.at_ns) / 1e9, 1e-9)
    ticks = max(last.total - first.total, 1)
    return Load(
        seconds=seconds,
        load1=load1,
        cpu_busy=(last.busy - first.busy) / ticks,
        cpu_steal=(last.steal - first.steal) / ticks,
        disk_iops=_rates(first.requests, last.requests, seconds),
        net_bytes=_rates(first.net_bytes, last.net_bytes, seconds),
    )


def measure(sys: Sys, seconds: float, sleep: Callable[[float], None] = time.sleep) -> Load:
    """Watches the machine for ``seconds``."""
    first = look(sys)
    sleep(seconds)
    last = look(sys)
    return between(first, last, float(((sys.text("/proc/loadavg") or "0").split() or ["0"])[0]))


def _rates(first: dict[str, int], last: dict[str, int], seconds: float) -> dict[str, float]:
    return {k: (v - first[k]) / seconds for k, v in last.items() if k in first and v > first[k]}


def _both_ways(rest: str) -> int:
    fields = rest.split()
    return int(fields[0]) + int(fields[8]) if len(fields) > 8 else 0
