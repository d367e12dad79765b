"""Memory by NUMA node: whether pages come from where they were asked for.

Reads    /sys/devices/system/node/node*/numastat.
Makes    ``numa_pages{numa=0|1…, kind=hit|miss|foreign|local|other}`` (pages, counter): allocations. A machine with one
         node has nothing to tell and no columns.
Costs    74 µs per sample with 2 memory nodes, 19 µs with one.
Needs    a machine of several nodes.
Blind to accesses: it counts where pages were given out, not how often they are read from afar.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from strata.model.counters import memory
from strata.probes.port import Column, Probe, Reader, Scope

_BASE = "/sys/devices/system/node"
_KINDS = {
    b"numa_hit": "hit",
    b"numa_miss": "miss",
    b"numa_foreign": "foreign",
    b"local_node": "local",
    b"other_node": "other",
}


class NumaProbe(Reader):
    """See the module."""

    def __init__(self, scope: Scope) -> None:
        super().__init__()
        nodes = [n for n in scope.sys.names(_BASE) if re.fullmatch(r"node\d+", n)]
        self._files = {}
        if len(nodes) > 1:
            self._files = {n[4:]: self.keep(f"{_BASE}/{n}/numastat", scope) for n in nodes}
        self.columns = tuple(
            Column(memory.NUMA_PAGES, {"numa": number, "kind": kind})
            for number in self._files
            for kind in _KINDS.values()
        )

    def read(self) -> Sequence[float | None]:
        values: list[float | None] = []
        for file in self._files.values():
            fields = file.read().split()
            found = dict(zip(fields[::2], fields[1::2], strict=False))
            values += [int(found[name]) if name in found else None for name in _KINDS]
        return values


def open_probe(scope: Scope) -> Probe:
    """Of the whole machine."""
    return NumaProbe(scope)
