"""In how many pieces a file lies (FIEMAP), without writing its dirty data out first and within bounds.

The engine's own `fiemap` synchronises the file, because blocks are read behind it; a survey changes nothing, so a file
that is being written may have pieces that have no place yet, which are not counted.
"""

from __future__ import annotations

import array
import fcntl
import os
import stat
import struct
from dataclasses import dataclass
from pathlib import Path

from strata.host.proc import descriptor

_FIEMAP = 0xC020660B
_HEAD, _EXTENT = struct.Struct("=QQIIII"), struct.Struct("=QQQQQIIII")
_BATCH = 512
_LAST, _NO_PLACE = 0x1, 0x2 | 0x4 | 0x200
"""The flags of the last extent, and of those without an offset on a device: unknown, delayed, inline."""
EXTENTS_MOST = 1_000_000


@dataclass(frozen=True)
class Pieces:
    """``count`` runs of bytes that follow each other on the device, the shortest of ``smallest`` bytes; ``whole``: to
    the file's end, else of its first `EXTENTS_MOST` extents."""

    count: int
    smallest: int
    whole: bool


def pieces(path: Path) -> Pieces | None:
    """Of a regular file; None for what is none. Raises `OSError`: EOPNOTSUPP where its file system does not say."""
    if not stat.S_ISREG(path.stat().st_mode):
        return None
    with descriptor(path, os.O_RDONLY | os.O_NONBLOCK) as fd:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return None
        runs: list[int] = []
        at, start, seen = -1, 0, 0
        while seen < EXTENTS_MOST:
            found = _asked(fd, start)
            for logical, physical, length, flags in found:
                seen, start = seen + 1, logical + length
                if flags & _NO_PLACE:
                    continue
                if physical == at and runs:
                    runs[-1] += length
                else:
                    runs.append(length)
                at = physical + length
            if not found or found[-1][3] & _LAST:
                return Pieces(len(runs), min(runs, default=0), True)
        return Pieces(len(runs), min(runs, default=0), False)


def places(path: Path, most: int) -> tuple[tuple[int, int, int], ...] | None:
    """(byte of the file, byte of its device, length) of each extent of a regular file; None for what is none, or has
    more than ``most``. Raises `OSError` as `pieces`."""
    if not stat.S_ISREG(path.stat().st_mode):
        return None
    with descriptor(path, os.O_RDONLY | os.O_NONBLOCK) as fd:
        found: list[tuple[int, int, int]] = []
        start = 0
        while len(found) <= most:
            asked = _asked(fd, start)
            found += [
                (logical, physical, length) for logical, physical, length, flags in asked if not flags & _NO_PLACE
            ]
            if not asked or asked[-1][3] & _LAST:
                return tuple(found) if len(found) <= most else None
            start = asked[-1][0] + asked[-1][2]
    return None


def _asked(fd: int, start: int) -> list[tuple[int, int, int, int]]:
    room = _HEAD.pack(start, (1 << 64) - 1 - start, 0, 0, _BATCH, 0) + bytes(_BATCH * _EXTENT.size)
    request = array.array("B", room)
    fcntl.ioctl(fd, _FIEMAP, request, True)
    mapped = min(_HEAD.unpack_from(request)[3], _BATCH)
    rows = (_EXTENT.unpack_from(request, _HEAD.size + i * _EXTENT.size) for i in range(mapped))
    return [(row[0], row[1], row[2], row[5]) for row in rows]
