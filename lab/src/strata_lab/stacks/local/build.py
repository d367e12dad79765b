"""`local`: a medium, a loop device on it, and a file system."""

from __future__ import annotations

from strata_lab.lab import Lab
from strata_lab.stacks import Options, write_stack
from strata_lab.stacks.volume import OPTIONS as VOLUME
from strata_lab.stacks.volume import volume

TITLE = "one node: medium, loop device, file system"
OPTIONS = VOLUME
VARIANTS = ({"fs": "ext4"}, {"fs": "xfs"}, {"fs": "btrfs"})


def build(lab: Lab, options: Options) -> None:
    """The disk and the file system on it, as two layers."""
    node = lab.add_node("n1", owner=True)
    made = volume(lab, node, options)
    write_stack(lab, "local", volume=made.layers.format(owner=node.name))
