"""Main memory: the page cache and what waits in it to be written.

Reads    /proc/meminfo.
Makes    ``memory_bytes{kind=total|available|cached|dirty|writeback|anonymous|slab}`` (B, gauge).
Costs    65 µs per sample.
Needs    nothing; ``available`` needs Linux 3.14.
Blind to which file is cached, and to a cgroup's own share.
"""

from __future__ import annotations

from strata.model.counters import memory
from strata.probes.port import ProbeScope, TableProbe, Told
from strata.units import KIB

NAMES = {
    "total": "MemTotal",
    "available": "MemAvailable",
    "cached": "Cached",
    "dirty": "Dirty",
    "writeback": "Writeback",
    "anonymous": "AnonPages",
    "slab": "Slab",
}
"""The kernel's names for the kinds of memory."""
_LINES = {kind: f"\n{name}:".encode() for kind, name in NAMES.items()}


class MemoryProbe(TableProbe):
    """Of the whole machine."""

    def __init__(self, scope: ProbeScope) -> None:
        super().__init__()
        self._file = self.keep("/proc/meminfo", scope)
        self.begin()

    def told(self) -> Told:
        data = b"\n" + self._file.read()
        found = ((kind, _value(data, line)) for kind, line in _LINES.items())
        return {(memory.BYTES, (kind,)): value for kind, value in found if value is not None}


def _value(data: bytes, line: bytes) -> float | None:
    at = data.find(line)
    fields = data[at + len(line) : at + len(line) + 40].split(None, 1)
    return int(fields[0]) * KIB if at >= 0 and fields and fields[0].isdigit() else None


open_probe = MemoryProbe
