"""Who uses a device, on the trees of machines with MD, LVM, multipath, dm-crypt and btrfs."""

from __future__ import annotations

from pathlib import Path

import pytest
from kernel_tree import Tree

from strata.host.inuse import device_users

ATA = "pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0/block"


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    tree = Tree(tmp_path)
    for n, disk in enumerate(("strata-a", "strata-b")):
        tree.disk(disk, f"8:{16 * n}", ATA)
        tree.partition(f"{disk}1", f"8:{16 * n + 1}", disk, ATA)
    return tree


def test_a_free_partition_of_a_free_disk(tree: Tree) -> None:
    assert device_users("strata-a1", tree.sys) == ()
    assert device_users("strata-a", tree.sys) == ("it has partitions (strata-a1)",)


def test_a_mount_is_found_by_number_whatever_its_source_is_called(tree: Tree) -> None:
    tree.mounts("1 0 8:1 / / rw - ext4 /dev/root rw")
    assert device_users("strata-a1", tree.sys) == ("it is mounted at /",)
    assert "/dev/strata-a1, its partition, is mounted at /" in device_users("strata-a", tree.sys)
    assert device_users("strata-b1", tree.sys) == ()


def test_a_whole_disk_that_is_mounted_takes_its_partitions_with_it(tree: Tree) -> None:
    tree.mounts("1 0 8:0 / /data rw - xfs /dev/strata-a rw")
    assert device_users("strata-a1", tree.sys) == ("/dev/strata-a, its whole disk, is mounted at /data",)


def test_lvm_on_md_on_a_partition_is_seen_from_every_leg_and_disk(tree: Tree) -> None:
    tree.device("md0", "9:0", md__level="raid1")
    tree.device("dm-0", "253:0", dm__uuid="LVM-x")
    tree.stands_on("md0", "strata-a1", "strata-b1")
    tree.stands_on("dm-0", "md0")
    tree.mounts("1 0 253:0 / /srv rw - xfs /dev/mapper/vg-x rw")
    for leg in ("strata-a1", "strata-b1"):
        found = device_users(leg, tree.sys)
        assert "it is a member of /dev/md0" in found
        assert "/dev/dm-0, which is built on it, is mounted at /srv" in found
    assert "/dev/dm-0, which is built on it, is mounted at /srv" in device_users("strata-a", tree.sys)
    assert "it is a member of /dev/dm-0" in device_users("md0", tree.sys)


def test_a_path_of_a_multipath_device_and_a_partition_on_it(tree: Tree) -> None:
    tree.device("dm-3", "253:3", dm__uuid="mpath-3600")
    tree.stands_on("dm-3", "strata-a")
    assert "it is a member of /dev/dm-3" in device_users("strata-a", tree.sys)
    assert device_users("strata-a1", tree.sys) == ("its disk /dev/strata-a is a member of /dev/dm-3",)


def test_the_second_member_of_a_mounted_btrfs(tree: Tree) -> None:
    tree.mounts("1 0 0:44 / /home rw - btrfs /dev/strata-a1 rw")
    for member in ("strata-a1", "strata-b1"):
        tree.file(f"/sys/fs/btrfs/uuid-1/devices/{member}/size", 1)
    assert device_users("strata-b1", tree.sys) == ("it is a member of the mounted btrfs uuid-1",)
    assert "it is mounted at /home" in device_users("strata-a1", tree.sys)


def test_swap_and_a_loop_device_on_a_partition(tree: Tree) -> None:
    tree.file("/proc/swaps", "Filename Type Size Used Priority\n/dev/strata-a1 partition 8 0 -2")
    tree.device("loop0", "7:0", loop__backing_file="/dev/strata-b1")
    assert device_users("strata-a1", tree.sys) == ("it is swap",)
    assert "/dev/strata-a1, its partition, is swap" in device_users("strata-a", tree.sys)
    assert device_users("strata-b1", tree.sys) == ("it is under the loop device /dev/loop0",)


def test_a_loop_device_whose_ground_cannot_be_looked_at(tree: Tree) -> None:
    tree.device("loop0", "7:0", loop__backing_file="/nowhere/strata.img (deleted)")
    assert device_users("loop0", tree.sys) == (
        "it is built on /nowhere/strata.img (deleted), which cannot be examined",
    )
