"""File systems: how full they are."""

from __future__ import annotations

from strata.model.counters.counter import Family, Scope

_ROOM = Family("filesystem_", Scope.FILE_SYSTEM)

BYTES = _ROOM.stands("bytes", "B", "space of the file system", aspects={"kind": ("total", "free", "available")})
INODES = _ROOM.stands("inodes", "inodes", "inodes of the file system", aspects={"kind": ("total", "free")})
