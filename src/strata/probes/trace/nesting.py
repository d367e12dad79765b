"""Where the sectors of a loop device lie on the disk below it, so that its requests are found again there."""

from __future__ import annotations

from pathlib import Path

from strata.host import block, fragments
from strata.host.block import BASE, SECTOR
from strata.host.proc import Sys
from strata.model.trace import TraceTarget

Extents = tuple[tuple[int, int, int], ...]
"""(sector of the upper device, sector of the lower disk, how many)."""
MOST = 65_536
"""A file in more pieces is matched by time and length alone."""


def extents_of(lower: TraceTarget, sys: Sys | None = None) -> Extents:
    """Of the device above ``lower``; empty where there is none, it is no loop device over a file, or its file's place
    is not known."""
    sys = sys or Sys()
    backing = None if lower.above is None else block.loop_backing(lower.above, sys)
    if backing is None:
        return ()
    offset = sys.int(f"{BASE}/{lower.above}/loop/offset") or 0
    try:
        places = fragments.places(Path(backing), MOST)
    except OSError:
        return ()
    first = 0 if lower.sectors is None else lower.sectors[0]
    found = []
    for logical, physical, length in places or ():
        # What lies before the device's first byte is not its.
        skip = max(0, offset - logical)
        if skip < length:
            sector = (logical + skip - offset) // SECTOR
            found.append((sector, first + (physical + skip) // SECTOR, (length - skip) // SECTOR))
    return tuple(found)
