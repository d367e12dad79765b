"""Main memory: what it holds, and what its reclaim did."""

from __future__ import annotations

from strata.model.counters.counter import Family, Scope

_MACHINE = Family("", Scope.MACHINE)
_EVENTS = (
    *("dirtied", "written", "read_in", "written_out", "major_fault"),
    *("reclaimed", "scanned", "swapped_in", "swapped_out", "workingset_refault"),
)

BYTES = _MACHINE.stands(
    "memory_bytes",
    "B",
    "main memory by use",
    aspects={"kind": ("total", "available", "cached", "dirty", "writeback", "anonymous", "slab")},
)
PAGES = _MACHINE.grows("pages", "pages", "paging events", aspects={"event": _EVENTS})
NUMA_PAGES = Family("numa_", Scope.MEMORY_NODE).grows(
    "pages",
    "pages",
    "pages allocated, by whether they are on the requested node",
    aspects={"kind": ("hit", "miss", "foreign", "local", "other")},
)
