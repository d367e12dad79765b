"""Main memory: what it holds, and what its reclaim did."""

from __future__ import annotations

from strata.model.counters.counter import Counter, Scope
from strata.model.series import SeriesKind

BYTES = Counter(
    "memory_bytes",
    "B",
    SeriesKind.GAUGE,
    Scope.MACHINE,
    "main memory by use",
    aspects={"kind": ("total", "available", "cached", "dirty", "writeback", "anonymous", "slab")},
)
PAGES = Counter(
    "pages",
    "pages",
    SeriesKind.COUNTER,
    Scope.MACHINE,
    "paging events",
    aspects={
        "event": (
            "dirtied",
            "written",
            "read_in",
            "written_out",
            "major_fault",
            "reclaimed",
            "scanned",
            "swapped_in",
            "swapped_out",
            "workingset_refault",
        )
    },
)
NUMA_PAGES = Counter(
    "numa_pages",
    "pages",
    SeriesKind.COUNTER,
    Scope.MEMORY_NODE,
    "pages allocated, by whether they are on the requested node",
    aspects={"kind": ("hit", "miss", "foreign", "local", "other")},
)
