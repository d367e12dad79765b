"""The processors, as far as the kernel shows them."""

from __future__ import annotations

import os
import re

from strata.host.proc import Sys
from strata.model.survey import Cpu


def cpu(sys: Sys, quota: float | None = None) -> Cpu:
    """``quota`` is the tightest cgroup limit, in processors."""
    info = _fields(sys)
    logical = sum(1 for line in sys.lines("/proc/cpuinfo") if line.startswith("processor"))
    logical = logical or os.cpu_count() or 1
    allowed = len(os.sched_getaffinity(0)) if sys.live else logical
    return Cpu(
        model=info.get("model name") or info.get("Model") or info.get("CPU part") or info.get("cpu") or "unknown",
        logical=logical,
        usable=min(float(allowed), quota) if quota else float(allowed),
        numa_nodes=sum(1 for n in sys.names("/sys/devices/system/node") if re.fullmatch(r"node\d+", n)) or 1,
        mhz=_mhz(sys, info),
        governor=sys.text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        turbo=_turbo(sys),
        hypervisor=_hypervisor(sys, info),
        clocksource=sys.text("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
    )


def _fields(sys: Sys) -> dict[str, str]:
    """The first processor's lines; later ones only add what it does not have (ARM's ``Model`` comes last)."""
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


def _hypervisor(sys: Sys, info: dict[str, str]) -> str | None:
    named = sys.text("/sys/hypervisor/type")
    if named:
        return named
    if "hypervisor" not in (info.get("flags") or info.get("Features") or "").split():
        return None
    maker = [t for n in ("sys_vendor", "product_name") if (t := sys.text(f"/sys/class/dmi/id/{n}"))]
    return " ".join(maker) or "unnamed"
