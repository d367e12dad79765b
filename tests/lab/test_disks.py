"""Devices of a lab while others of the same machine are broken."""

from __future__ import annotations

import os
import signal

import pytest

from strata.errors import RunFailed
from strata_lab import disks
from strata_lab.lab import Lab

pytestmark = pytest.mark.root
_MIB = 1 << 20


def test_a_btrfs_is_made_and_grown_beside_a_mounted_device_whose_file_is_dead(name: str) -> None:
    lab = Lab.create(name, "none")
    dead = disks.attach(lab, disks.modelled(lab, "dead", 64 * _MIB, "").disk)
    disks.make_fs(dead, "ext4")
    disks.mount(lab, dead, "dead")
    os.kill(lab.process("disk-dead").pid, signal.SIGKILL)
    own, added = (disks.attach(lab, disks.image(lab, n, 320 * _MIB)) for n in ("own", "added"))
    with pytest.raises(RunFailed, match="not connected"):
        disks.tool(["mkfs.btrfs", "-q", "-f", own], "make btrfs on")
    disks.make_btrfs([own], data="single", metadata="single")
    path = disks.mount(lab, own, "btrfs")
    with pytest.raises(RunFailed, match="not connected"):
        disks.tool(["btrfs", "device", "add", "-f", "-K", added, str(path)], "add a device to")
    disks.add_to_btrfs(added, path)
    assert disks.tool(["btrfs", "filesystem", "show", str(path)], "ask").count("devid") == 2
