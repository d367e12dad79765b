"""File systems: how full they are."""

from __future__ import annotations

from strata.model.counters.counter import Counter, Scope
from strata.model.series import SeriesKind

BYTES = Counter(
    "filesystem_bytes",
    "B",
    SeriesKind.GAUGE,
    Scope.FILE_SYSTEM,
    "space of the file system",
    aspects={"kind": ("total", "free", "available")},
)
INODES = Counter(
    "filesystem_inodes",
    "inodes",
    SeriesKind.GAUGE,
    Scope.FILE_SYSTEM,
    "inodes of the file system",
    aspects={"kind": ("total", "free")},
)
