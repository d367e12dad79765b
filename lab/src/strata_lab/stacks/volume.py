"""What several stacks stand on: a medium, a loop device, a file system, and in it the marked test file.

The file is a marked test file of Strata's, so that every layer of the stack reaches the same data and the safety gate
lets them write to it. It is filled: what was never written would be read without the medium.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from strata import units
from strata.errors import RunFailed, UsageError
from strata.host import testfile
from strata.host.mark import MARK_BYTES
from strata_lab import disks
from strata_lab.lab import Lab
from strata_lab.nodes import LabNode
from strata_lab.specification import specification
from strata_lab.stacks import Options

MODEL = "c=4 svc=800 bw=250"
"""Four servers of 0.8 ms: 5000 I/Os a second at any depth from 4, and little enough that two CPUs keep up."""

OPTIONS = {
    "fs": ("ext4", "ext4, xfs or btrfs"),
    "size": ("512m", "size of the medium"),
    "file": ("64m", "size of the test file"),
    "medium": ("model", "model (a modelled disk) or file (a plain file on this machine's disk)"),
    "model": (MODEL, "parameters of the modelled disk"),
    "journal": ("here", "journal of ext4: here (on the medium) or apart (on a separate device in memory)"),
}
JOURNAL = ("journal", 32 * units.MIB, "c=8 svc=20")
"""Quick beside any medium: a commit then costs the medium the data alone."""


@dataclass(frozen=True)
class Volume:
    """``device`` and ``mounted`` are None in a reduced lab, where the file is a plain one.

    ``model``: of the medium as it was built; empty where it has none.
    """

    file: Path
    device: str | None
    mounted: Path | None
    model: str = ""

    @property
    def layers(self) -> str:
        """The tables of its layers, for a stack file; the topmost is called `file system`."""
        promised = specification(self.model)
        disk = f'[[layer]]\nname = "disk"\nnode = "{{owner}}"\nendpoint = "block:{self.device}"\n{promised}\n'
        on = '\non = ["disk"]\nexpect.overhead_max = 0.05' if self.device else ""
        return (disk if self.device else "") + (
            f'[[layer]]\nname = "file system"\nnode = "{{owner}}"\nendpoint = "file:{self.file}"{on}\n'
        )


def volume(lab: Lab, node: LabNode, options: Options) -> Volume:
    """Makes it. In a reduced lab: the test file alone, on whatever file system the lab's directory is."""
    file_bytes = units.parse_size(options["file"])
    if lab.reduced:
        file = lab.dir("disks") / "strata.dat"
        make_file(file, file_bytes)
        lab.fact("volume", node=node.name, device=None, path=None, file=str(file), fs=None, journal=None)
        return Volume(file, None, None)
    size = units.parse_size(options["size"])
    if options["medium"] == "model":
        backing = disks.modelled(lab, "medium", size, options["model"]).disk
    elif options["medium"] == "file":
        backing = disks.image(lab, "medium", size)
    else:
        raise UsageError("there is no medium", repr(options["medium"]), "", "medium=model or medium=file")
    if options["journal"] not in ("here", "apart"):
        raise UsageError("there is no journal", repr(options["journal"]), "", "journal=here or journal=apart")
    journal = disks.attach(lab, disks.modelled(lab, *JOURNAL).disk) if options["journal"] == "apart" else None
    device = disks.attach(lab, backing)
    fs = options["fs"]
    mounted = _filled(lab, device, fs, file_bytes, journal)
    file = mounted / "strata.dat"
    lab.fact("volume", node=node.name, device=device, path=str(mounted), file=str(file), fs=fs, journal=journal)
    return Volume(file, device, mounted, options["model"] if options["medium"] == "model" else "")


def anew(lab: Lab, begin_bytes: int) -> None:
    """The same volume again, new and under the same names, beginning so far into its medium.

    Raises `RunFailed` when the lab has none on a loop device, or a server holds it open.
    """
    fact = lab.last_fact("volume")
    if fact is None or not fact["device"] or not fact["path"]:
        raise RunFailed("cannot shift the volume of", lab.name, "it has no file system of its own on a loop device")
    size = Path(fact["file"]).stat().st_size
    disks.unmount(Path(fact["path"]))
    disks.free(fact["device"])
    disks.begin_at(fact["device"], begin_bytes)
    _filled(lab, fact["device"], fact["fs"], size, fact.get("journal"))


def _filled(lab: Lab, device: str, fs: str, file_bytes: int, journal: str | None) -> Path:
    disks.make_fs(device, fs, journal)
    # btrfs would copy on write and so move the file's blocks away from where the disk layer reads them.
    mounted = disks.mount(lab, device, "volume", "nodatacow" if fs == "btrfs" else "")
    make_file(mounted / "strata.dat", file_bytes)
    return mounted


def make_file(path: Path, size_bytes: int) -> None:
    """A marked test file full of incompressible bytes, none of them left in the page cache."""
    with testfile.new(path, size_bytes) as held, Path(held.opened).open("r+b", buffering=0) as f:
        held.keep()
        f.seek(MARK_BYTES)
        while (left := size_bytes - f.tell()) > 0:
            f.write(os.urandom(min(left, units.MIB)))
        os.fsync(f.fileno())
        os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
