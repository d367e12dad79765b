"""What this process may use: control groups of both versions, resource limits, kernel switches."""

from __future__ import annotations

import resource
from collections.abc import Iterator

from strata.host.cgroups import groups
from strata.host.proc import Sys

# Version 1 writes "no limit" as the largest multiple of a page below 2^63.
_V1_UNLIMITED = 1 << 60
_V1_IO = {
    "blkio.throttle.read_bps_device": "rbps",
    "blkio.throttle.write_bps_device": "wbps",
    "blkio.throttle.read_iops_device": "riops",
    "blkio.throttle.write_iops_device": "wiops",
}


def limits(sys: Sys) -> dict[str, str]:
    """Every limit found, the tightest of all groups above this process.

    Keys: ``memory`` (bytes), ``cpu`` (CPUs), ``io <major:minor> <rbps|wbps|riops|wiops>`` (bytes or requests
    per second), ``rlimit memlock|nofile|fsize`` (bytes, files, bytes), ``io_uring_disabled`` (1: unprivileged, 2: all).
    """
    found: dict[str, float] = {}
    for directory, _ in groups(sys):
        for key, value in _of_group(directory, sys):
            found[key] = min(value, found.get(key, value))
    said = {key: f"{value:g}" if key == "cpu" else str(int(value)) for key, value in sorted(found.items())}
    if sys.live:
        said |= _rlimits()
    if (disabled := sys.text("/proc/sys/kernel/io_uring_disabled")) not in (None, "0"):
        said["io_uring_disabled"] = str(disabled)
    return said


def memory_limit(found: dict[str, str]) -> int | None:
    """Bytes; None: no limit."""
    return int(found["memory"]) if "memory" in found else None


def cpu_limit(found: dict[str, str]) -> float | None:
    """CPUs; None: no limit."""
    return float(found["cpu"]) if "cpu" in found else None


def _of_group(directory: str, sys: Sys) -> Iterator[tuple[str, float]]:
    for name in ("memory.max", "memory.limit_in_bytes"):
        value = sys.int(f"{directory}/{name}")
        if value is not None and value < _V1_UNLIMITED:
            yield "memory", value
    quota, _, period = (sys.text(f"{directory}/cpu.max") or "").partition(" ")
    if quota.isdigit() and period.isdigit():
        yield "cpu", int(quota) / int(period)
    us, per = sys.int(f"{directory}/cpu.cfs_quota_us"), sys.int(f"{directory}/cpu.cfs_period_us")
    if us is not None and us > 0 and per:
        yield "cpu", us / per
    for line in sys.lines(f"{directory}/io.max"):
        device, *pairs = line.split()
        for key, _, number in (p.partition("=") for p in pairs):
            if number.isdigit():
                yield f"io {device} {key}", int(number)
    for file, key in _V1_IO.items():
        for line in sys.lines(f"{directory}/{file}"):
            device, _, number = line.partition(" ")
            if number.isdigit():
                yield f"io {device} {key}", int(number)


def _rlimits() -> dict[str, str]:
    wanted = {"memlock": resource.RLIMIT_MEMLOCK, "nofile": resource.RLIMIT_NOFILE, "fsize": resource.RLIMIT_FSIZE}
    soft = {name: resource.getrlimit(which)[0] for name, which in wanted.items()}
    return {f"rlimit {name}": str(value) for name, value in soft.items() if value != resource.RLIM_INFINITY}
