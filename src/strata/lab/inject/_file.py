"""The test file of a lab's volume, and the page cache above the medium's own."""

from __future__ import annotations

import os
from pathlib import Path

from strata import units
from strata.errors import RunFailed
from strata.lab.lab import Lab


def test_file(lab: Lab) -> Path:
    """Raises `RunFailed` when the lab has no volume."""
    volume = lab.last_fact("volume")
    if volume is None:
        raise RunFailed("the lab", lab.name, "has no volume with a test file")
    return Path(volume["file"])


def read_once(path: Path) -> None:
    """Reads all of it from the device: a cache there holds what it can, this machine's page cache nothing."""
    with path.open("rb", buffering=0) as f:
        os.fsync(f.fileno())
        os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        while f.read(units.MIB):
            pass
        os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
