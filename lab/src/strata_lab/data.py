"""The file that all layers of a lab's stack reach: Strata's own, written once, and where it lies on its disk."""

from __future__ import annotations

import json
import secrets
from pathlib import Path

from strata.errors import RunFailed
from strata.host import testfile
from strata.host.heldfile import settle
from strata.host.mark import Mark, header_bytes
from strata_lab import compiled, disks
from strata_lab.lab import Lab

_SEED_BITS = 56
_POLL_S = 1.0
# All metadata in front: the file is one piece of the disk, so that its place can be served by offset and size.
_MKFS = (
    "mkfs.ext4",
    "-q",
    "-F",
    "-b",
    "4096",
    "-O",
    "sparse_super2,^has_journal",
    "-E",
    "num_backup_sb=0,packed_meta_blocks=1",
)
FS = "ext4"


def volume(lab: Lab, device: str, name: str, size: int) -> Path:
    """A file system on ``device`` and in it a file of ``size`` bytes that `diagnose` takes over; the file's path."""
    disks.tool([*_MKFS, device], "make ext4 on")
    return file(disks.mount(lab, device, name, "noatime") / "strata.dat", size)


def file(path: Path, size: int) -> Path:
    """A test file with Strata's mark, every byte written; ``path``. It goes with the lab, `strata clean` leaves it."""
    with testfile.new(path, size) as held:
        held.keep()
        _fill(path, held.own, held.fd)
    return path


def fill(path: Path, size: int) -> None:
    """The same for a file that is there already and cannot be made anew: an image that a daemon shows as a file."""
    mark = Mark.new(size)
    with path.open("r+b") as shown:
        _fill(path, mark, shown.fileno())
        settle(shown.fileno(), mark)


def _fill(path: Path, mark: Mark, fd: int) -> None:
    seed = secrets.randbits(_SEED_BITS)
    filling = compiled.fill(str(path), mark.size, seed, header_bytes(mark), True, fd)
    while (done := filling.wait(_POLL_S)) is None:
        continue
    if json.loads(done)["errored"]:
        raise RunFailed("could not fill", str(path), "a write failed")


def place(path: Path) -> int:
    """The byte of the disk at which the file begins. Raises `RunFailed` when it does not lie there in one piece."""
    extents = json.loads(compiled.fiemap(str(path)))["extents"]
    at = int(extents[0]["physical"]) if extents else 0
    whole = all(e["physical"] - e["logical"] == at and not set(e["flags"]) & {"unwritten"} for e in extents)
    if not extents or not whole or sum(e["length"] for e in extents) < path.stat().st_size:
        raise RunFailed("cannot serve the blocks of", str(path), f"it has {len(extents)} extents on its disk")
    return at
