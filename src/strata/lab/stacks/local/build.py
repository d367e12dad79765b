"""`local`: a medium, a loop device on it, and a file system."""

from __future__ import annotations

from strata import units
from strata.lab import disks
from strata.lab.lab import Lab
from strata.lab.stacks import Options, write_stack

TITLE = "one node: medium, loop device, file system"
OPTIONS = {
    "fs": ("ext4", "ext4, xfs or btrfs"),
    "size": ("512m", "size of the medium"),
}


def build(lab: Lab, options: Options) -> None:
    """The disk and the file system on it; both at once readable as layers of one stack."""
    lab.add_node("n1", owner=True)
    device = disks.attach(lab, disks.image(lab, "medium", units.parse_size(options["size"])))
    disks.make_fs(device, options["fs"])
    mounted = disks.mount(lab, device, "volume")
    lab.fact("volume", node="n1", device=device, path=str(mounted), fs=options["fs"])
    write_stack(lab, "local", device=device, file=mounted / "strata.dat")
