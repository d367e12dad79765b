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

from strata.model.counters import memory
from strata.probes.port import ProbeScope, TableProbe, Told

_BASE = "/sys/devices/system/node"
_KINDS = {
    b"numa_hit": "hit",
    b"numa_miss": "miss",
    b"numa_foreign": "foreign",
    b"local_node": "local",
    b"other_node": "other",
}


class NumaProbe(TableProbe):
    """Of the whole machine."""

    def __init__(self, scope: ProbeScope) -> None:
        super().__init__()
        nodes = [n for n in scope.sys.names(_BASE) if re.fullmatch(r"node\d+", n)]
        several = nodes if len(nodes) > 1 else []
        self._files = {n[4:]: self.keep(f"{_BASE}/{n}/numastat", scope) for n in several}
        self.begin()

    def told(self) -> Told:
        rows = ((number, file.pairs()) for number, file in self._files.items())
        return {
            (memory.NUMA_PAGES, (number, kind)): int(row[name]) if name in row else None
            for number, row in rows
            for name, kind in _KINDS.items()
        }


open_probe = NumaProbe
