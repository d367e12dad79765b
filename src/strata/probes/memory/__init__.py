"""Main memory: the page cache and what waits in it to be written.

Reads    /proc/meminfo.
Makes    ``memory_bytes{kind=total|available|cached|dirty|writeback|anonymous|slab}`` (B, gauge).
Costs    65 µs per sample.
Needs    nothing; ``available`` needs Linux 3.14.
Blind to which file is cached, and to a cgroup's own share.
"""

from __future__ import annotations

from collections.abc import Sequence

from strata.model.counters import memory
from strata.probes.port import Column, Probe, Reader, Scope
from strata.units import KIB

_LINES = {
    "total": b"MemTotal:",
    "available": b"\nMemAvailable:",
    "cached": b"\nCached:",
    "dirty": b"\nDirty:",
    "writeback": b"\nWriteback:",
    "anonymous": b"\nAnonPages:",
    "slab": b"\nSlab:",
}


class MemoryProbe(Reader):
    """See the module."""

    def __init__(self, scope: Scope) -> None:
        super().__init__()
        self._file = self.keep("/proc/meminfo", scope)
        data = self._file.read()
        self._kinds = tuple(kind for kind, line in _LINES.items() if _value(data, line) is not None)
        self.columns = tuple(Column(memory.BYTES, {"kind": kind}) for kind in self._kinds)

    def read(self) -> Sequence[float | None]:
        data = self._file.read()
        return [_value(data, _LINES[kind]) for kind in self._kinds]


def _value(data: bytes, line: bytes) -> float | None:
    at = data.find(line)
    fields = data[at + len(line) : at + len(line) + 40].split(None, 1)
    return int(fields[0]) * KIB if at >= 0 and fields and fields[0].isdigit() else None


def open_probe(scope: Scope) -> Probe:
    """Of the whole machine."""
    return MemoryProbe(scope)
