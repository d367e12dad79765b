"""Main memory: what it holds, and what its reclaim did."""

from __future__ import annotations

from strata.model.counters.counter import Counter, Scope
from strata.model.series import SeriesKind

BYTES = Counter(
    "memory_bytes",
    "B",
    SeriesKind.GAUGE,
    Scope.MACHINE,
    "main memory, by what it holds",
    aspects={"kind": ("total", "available", "cached", "dirty", "writeback", "anonymous", "slab")},
)
PAGES = Counter(
    "pages",
    "pages",
    SeriesKind.COUNTER,
    Scope.MACHINE,
    "what happened to pages of memory",
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
    "pages given out, and whether they are where they were asked for",
    aspects={"kind": ("hit", "miss", "foreign", "local", "other")},
)
