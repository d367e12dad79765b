"""The CPUs, as far as the kernel shows them."""

from __future__ import annotations

import os
import re
from operator import itemgetter
from sys import byteorder

from strata.discover.topology import topology
from strata.host.proc import Sys
from strata.model.survey import Cpu

WAKE_UP_BYTES = 4
"""Of /dev/cpu_dma_latency, one signed number."""


def cpu(sys: Sys, quota: float | None = None) -> Cpu:
    """``quota`` is the tightest cgroup limit, in CPUs."""
    info = _fields(sys)
    logical = sum(1 for line in sys.lines("/proc/cpuinfo") if line.startswith("processor"))
    logical = logical or os.cpu_count() or 1
    idle_wake_us, idle_state = _deepest_sleep(sys)
    allowed = len(os.sched_getaffinity(0)) if sys.live else logical
    return Cpu(
        model=info.get("model name") or info.get("Model") or info.get("CPU part") or info.get("cpu") or "unknown",
        logical=logical,
        usable=min(float(allowed), quota) if quota else float(allowed),
        numa_nodes=sum(1 for n in sys.names("/sys/devices/system/node") if re.fullmatch(r"node\d+", n)) or 1,
        mhz=_mhz(sys, info),
        turbo=_turbo(sys),
        hypervisor=_hypervisor(sys, info),
        clocksource=sys.text("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        idle_state=idle_state,
        idle_wake_us=idle_wake_us,
        **topology(sys),
    )


def _fields(sys: Sys) -> dict[str, str]:
    """The first CPU's lines; later ones only add what it does not have (ARM's ``Model`` comes last)."""
    found: dict[str, str] = {}
    for line in sys.lines("/proc/cpuinfo"):
        key, colon, value = line.partition(":")
        if colon:
            found.setdefault(key.strip(), value.strip())
    return found


def _mhz(sys: Sys, info: dict[str, str]) -> float | None:
    khz = sys.int("/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq")
    if khz is not None:
        return khz / 1000
    try:
        return float(info["cpu MHz"])
    except (KeyError, ValueError):
        return None


def _turbo(sys: Sys) -> bool | None:
    no_turbo = sys.int("/sys/devices/system/cpu/intel_pstate/no_turbo")
    if no_turbo is not None:
        return no_turbo == 0
    boost = sys.int("/sys/devices/system/cpu/cpufreq/boost")
    return None if boost is None else boost == 1


def _deepest_sleep(sys: Sys) -> tuple[int, str] | tuple[None, None]:
    """Microseconds to wake up and name of the deepest idle state that is neither switched off nor slower to wake up
    than somebody asked for (the kernel's admin-guide/pm/cpuidle); None where the kernel manages none, or only root may
    know what was asked for."""
    home = "/sys/devices/system/cpu/cpu0/cpuidle"
    at_most = _wake_up_asked(sys)
    if at_most is None:
        return None, None
    found = []
    for state in sys.names(home):
        name, wake_us = sys.text(f"{home}/{state}/name"), sys.int(f"{home}/{state}/latency")
        off = sys.int(f"{home}/{state}/disable")
        if name is not None and wake_us is not None and not off and wake_us <= at_most:
            found.append((wake_us, name))
    return sorted(found, key=itemgetter(0))[-1] if found else (None, None)


def _wake_up_asked(sys: Sys) -> int | None:
    """Microseconds, 2,000 seconds where nobody asked; None where it cannot be read."""
    try:
        # Reading asks for nothing: the request that opening makes is the one that binds nobody.
        told = sys.at("/dev/cpu_dma_latency").read_bytes()
    except OSError:
        return None
    return int.from_bytes(told, byteorder, signed=True) if len(told) == WAKE_UP_BYTES else None


def _hypervisor(sys: Sys, info: dict[str, str]) -> str | None:
    named = sys.text("/sys/hypervisor/type")
    if named:
        return named
    if "hypervisor" not in (info.get("flags") or info.get("Features") or "").split():
        return None
    maker = [t for n in ("sys_vendor", "product_name") if (t := sys.text(f"/sys/class/dmi/id/{n}"))]
    return " ".join(maker) or "unnamed"
