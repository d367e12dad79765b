"""Main memory and how much of it the page cache may take."""

from __future__ import annotations

from strata.host.proc import Sys
from strata.model.survey import Memory


def memory(sys: Sys, limit: int | None = None) -> Memory | None:
    """None when /proc/meminfo cannot be read. ``limit`` is the tightest cgroup limit in bytes."""
    rows = (line.partition(":") for line in sys.lines("/proc/meminfo"))
    kib = {key: int(value.split()[0]) for key, _, value in rows if value.split() and value.split()[0].isdigit()}
    if "MemTotal" not in kib:
        return None

    def in_bytes(*names: str) -> int:
        return sum(kib.get(n, 0) for n in names) * 1024

    return Memory(
        total=in_bytes("MemTotal"),
        # Before Linux 3.14 there is no estimate; free and cached together come nearest.
        available=in_bytes("MemAvailable") if "MemAvailable" in kib else in_bytes("MemFree", "Cached", "Buffers"),
        cached=in_bytes("Cached", "Buffers"),
        dirty=in_bytes("Dirty"),
        swap_total=in_bytes("SwapTotal"),
        limit=limit,
    )
