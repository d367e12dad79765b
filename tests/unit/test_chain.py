"""The chain of devices, on the trees of machines with LVM, MD, multipath, dm-crypt, zram, loop, btrfs and NVMe."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from kernel_tree import Tree

from strata.discover.chain import NOTHING, Under, carriers, chain, devices_of
from strata.discover.filesystem import describe, server_of
from strata.host.mounts import mount_of, parse, unescape
from strata.model.endpoint import Endpoint
from strata.model.survey import Device

ATA = "pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0/block"
FC = "pci0000:00/0000:05:00.0/host1/rport-1:0-0/target1:0:0/1:0:0:0/block"
NVME = "pci0000:00/0000:01:00.0/nvme/nvme0"
SPACE = os.statvfs_result((4096, 4096, 1 << 28, 1 << 27, 1 << 27, 0, 0, 0, 0, 255))


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


def under(tree: Tree, path: str) -> dict[str, Device]:
    mount = mount_of(path, tree.sys)
    assert mount is not None
    return {d.name: d for d in chain(mount, tree.sys)}


def test_lvm_on_md_on_partitions_of_two_disks(tree: Tree) -> None:
    tree.mounts("30 1 253:0 / /srv rw,relatime shared:1 - xfs /dev/mapper/vg-data rw,attr2")
    tree.device("dm-0", "253:0", dm__uuid="LVM-abcdef", dm__name="vg-data")
    tree.device("md0", "9:0", md__level="raid1", md__raid_disks=2, md__degraded=1, md__sync_action="idle")
    for n, disk in enumerate(("sda", "sdb")):
        tree.disk(
            disk, f"8:{16 * n}", ATA, rotational=1, device__model="HUH7212", device__vendor="ATA", device__rev="A1"
        )
        tree.partition(f"{disk}1", f"8:{16 * n + 1}", disk, ATA, start=2048)
    tree.stands_on("dm-0", "md0")
    tree.stands_on("md0", "sda1", "sdb1")
    found = under(tree, "/srv/db/file")
    assert list(found) == ["dm-0", "md0", "sda1", "sda", "sdb1", "sdb"]
    assert [d.kind for d in found.values()] == ["lvm", "md", "partition", "scsi", "partition", "scsi"]
    assert found["md0"].detail == {"md_level": "raid1", "md_disks": "2", "md_degraded": "1", "md_sync": "idle"}
    assert found["md0"].members == ("sda1", "sdb1")
    assert found["sda1"].holders == ("md0",)
    assert found["sda1"].partition_start == 1 << 20
    disk = found["sda"]
    assert (disk.transport, disk.rotational, disk.detail["medium"]) == ("sata", True, "rotating disk")
    assert (disk.model, disk.firmware, disk.scheduler, disk.max_sectors_bytes) == (
        "ATA HUH7212",
        "A1",
        "none",
        1280 << 10,
    )
    # A partition's requests go through its disk's queue.
    assert found["sda1"].physical_block == 4096


def test_crypt_on_a_partition_of_a_multipath_device(tree: Tree) -> None:
    tree.mounts("30 1 253:2 / /data rw - ext4 /dev/mapper/secret rw")
    tree.device("dm-2", "253:2", dm__uuid="CRYPT-LUKS2-0", dm__name="secret")
    tree.device("dm-1", "253:1", dm__uuid="part1-mpath-3600", dm__name="mpatha1")
    tree.device("dm-0", "253:0", dm__uuid="mpath-3600", dm__name="mpatha")
    tree.disk("sdc", "8:32", FC, device__model="LUN")
    tree.disk("sdd", "8:48", FC.replace("rport-1:0-0", "rport-2:0-0"), device__model="LUN")
    tree.stands_on("dm-2", "dm-1")
    tree.stands_on("dm-1", "dm-0")
    tree.stands_on("dm-0", "sdc", "sdd")
    found = under(tree, "/data")
    assert [(d.name, d.kind) for d in found.values()] == [
        ("dm-2", "crypt"),
        ("dm-1", "partition"),
        ("dm-0", "multipath"),
        ("sdc", "scsi"),
        ("sdd", "scsi"),
    ]
    assert {found["sdc"].transport, found["sdd"].transport} == {"fc"}


def test_a_leg_that_is_shared_is_named_once(tree: Tree) -> None:
    tree.mounts("30 1 253:0 / /x rw - ext4 /dev/dm-0 rw")
    tree.device("dm-0", "253:0", dm__uuid="other")
    tree.disk("sda", "8:0", ATA)
    for n in (1, 2):
        tree.partition(f"sda{n}", f"8:{n}", "sda", ATA)
    tree.stands_on("dm-0", "sda1", "sda2")
    found = under(tree, "/x")
    assert list(found) == ["dm-0", "sda1", "sda", "sda2"]
    assert found["dm-0"].kind == "device-mapper"


def test_loop_on_a_file_on_an_nvme_partition(tree: Tree) -> None:
    tree.mounts(
        "1 0 259:1 / / rw - ext4 /dev/nvme0n1p1 rw",
        "30 1 7:3 / /mnt/image rw - xfs /dev/loop3 rw",
    )
    tree.device("loop3", "7:3", loop__backing_file="/var/images/a b.img", loop__dio=1, queue__rotational=0)
    tree.disk("nvme0n1", "259:0", NVME, device__model="P4510", device__serial="PHLJ", device__firmware_rev="VDV1")
    (tree.root / f"sys/devices/{NVME}/nvme0n1/device/transport").write_text("pcie\n")
    tree.partition("nvme0n1p1", "259:1", "nvme0n1", NVME)
    found = under(tree, "/mnt/image/x")
    assert list(found) == ["loop3", "nvme0n1p1", "nvme0n1"]
    loop = found["loop3"]
    assert loop.members == ("nvme0n1p1",)
    assert loop.detail["backing_file"] == "/var/images/a b.img"
    assert (loop.detail["direct_io"], loop.detail["backing_file_system"]) == ("1", "ext4")
    nvme = found["nvme0n1"]
    assert (nvme.kind, nvme.transport, nvme.model, nvme.serial, nvme.firmware) == (
        "nvme",
        "pcie",
        "P4510",
        "PHLJ",
        "VDV1",
    )


def test_zram_and_virtio(tree: Tree) -> None:
    tree.mounts("1 0 254:0 / / rw - ext4 /dev/root rw", "2 1 253:0 / /z rw - ext4 /dev/zram0 rw")
    tree.disk("vda", "254:0", "pci0000:00/0000:00:02.0/virtio1/block", rotational=1, serial="abc")
    tree.device("zram0", "253:0", comp_algorithm="lzo [lz4] zstd")
    zram = under(tree, "/z")["zram0"]
    assert (zram.kind, zram.detail["compression"], zram.detail["medium"]) == ("zram", "lz4", "memory")
    virtual = under(tree, "/home")["vda"]
    assert (virtual.kind, virtual.transport, virtual.serial) == ("virtio", "virtio", "abc")
    assert "hidden" in virtual.detail["medium"]


def test_btrfs_of_two_devices_under_an_anonymous_number(tree: Tree) -> None:
    tree.mounts("30 1 0:44 /@home /home rw - btrfs /dev/sda1 rw,compress=zstd:3,subvol=/@home")
    for n, disk in enumerate(("sda", "sdb")):
        tree.disk(disk, f"8:{16 * n}", ATA)
        tree.partition(f"{disk}1", f"8:{16 * n + 1}", disk, ATA)
        tree.file(f"/sys/fs/btrfs/uuid-1/devices/{disk}1/size", 1)
    mount = mount_of("/home/x", tree.sys)
    assert mount is not None
    assert carriers(mount, tree.sys) == ("sda1", "sdb1")
    assert list(under(tree, "/home/x")) == ["sda1", "sda", "sdb1", "sdb"]
    of = devices_of(Endpoint.parse("file:/home/x"), tree.sys)
    assert of == Under(("sda1", "sda", "sdb1", "sdb"), ("sda1", "sdb1")), "both carry it, neither alone"
    assert devices_of(Endpoint.parse("block:/dev/sdb1"), tree.sys) == Under(("sdb1", "sdb"), ("sdb1",))
    assert devices_of(Endpoint.parse("block:/dev/sdx"), tree.sys) == NOTHING
    assert devices_of(Endpoint.parse("nbd://host/export"), tree.sys) == NOTHING
    assert describe(mount, SPACE, "sda1", tree.sys).detail == {"compression": "zstd:3"}


def test_what_cannot_be_read_is_none(tree: Tree) -> None:
    tree.mounts("1 0 8:0 / / rw - ext4 /dev/sda rw")
    tree.device("sda", "8:0", ATA)
    found = under(tree, "/")["sda"]
    assert (found.model, found.rotational, found.write_cache, found.scheduler, found.physical_block) == (None,) * 5
    assert (found.nr_requests, found.queues, found.optimal_io, found.partition_start) == (None,) * 4
    assert "medium" not in found.detail


@pytest.mark.parametrize(
    ("line", "server", "telling"),
    [
        ("nfs4 nas:/export rw,vers=4.2,rsize=1048576,nconnect=4,proto=tcp,addr=10.0.0.9", "10.0.0.9", "nconnect"),
        ("cifs //nas/share rw,vers=3.1.1,multichannel,max_channels=2,rsize=4194304", "nas", "multichannel"),
        ("ceph 10.0.0.1:6789,10.0.0.2:6789:/ rw,name=admin", "10.0.0.1", None),
        ("fuse.glusterfs nas:/vol rw,user_id=0", "nas", None),
        ("fuse.sshfs me@nas:/home rw", "nas", None),
        ("9p hostshare rw,trans=virtio,msize=262144", None, "msize"),
    ],
)
def test_remote_file_systems(tree: Tree, line: str, server: str | None, telling: str | None) -> None:
    kind, source, options = line.split(" ")
    tree.mounts("1 0 8:0 / / rw - ext4 /dev/sda rw", f"40 1 0:50 / /mnt/nas rw,relatime - {kind} {source} {options}")
    mount = mount_of("/mnt/nas/dir/file", tree.sys)
    assert mount is not None
    fs = describe(mount, SPACE, None, tree.sys)
    assert (fs.remote, fs.kind, fs.detail.get("server")) == (True, kind, server)
    assert telling is None or telling in fs.detail
    assert chain(mount, tree.sys) == ()


def test_a_local_fuse_is_not_remote(tree: Tree) -> None:
    tree.mounts("40 1 0:50 / /mnt rw - fuse.mergerfs a:b rw")
    mount = mount_of("/mnt/x", tree.sys)
    assert mount is not None
    assert not describe(mount, SPACE, None, tree.sys).remote


def test_servers() -> None:
    assert server_of("[fe80::1]:/x") == "fe80::1"
    assert server_of("tank/home") is None
    assert server_of("//nas") == "nas"


def test_the_mount_on_top_wins_and_names_are_unescaped(tree: Tree) -> None:
    tree.mounts(
        "1 0 8:0 / / rw - ext4 /dev/sda rw",
        "2 1 8:1 / /mnt/a\\040b rw,noatime shared:5 master:1 - ext4 /dev/sda1 rw,errors=remount-ro",
        "3 2 8:2 / /mnt/a\\040b rw - xfs /dev/sda2 rw",
        "4 1 8:3 / /mnt rw - ext4 /dev/sda3 rw",
        "not a mount",
    )
    top = mount_of("/mnt/a b/c", tree.sys)
    assert top is not None and (top.kind, top.point) == ("xfs", "/mnt/a b")
    other = mount_of("/mnt/a bc", tree.sys)
    assert other is not None and other.point == "/mnt"
    second = parse("2 1 8:1 / /x rw,noatime shared:5 master:1 - ext4 /dev/sda1 rw,errors=remount-ro")
    assert second is not None and second.options == ("rw", "noatime", "errors=remount-ro")
    assert unescape("/a\\134b/ü\\011") == "/a\\b/ü\t"


# Options as kernels showed them for mounts of theirs; names and addresses are others.
CIFS = [
    (
        "40 1 0:50 / /mnt/nas rw,relatime shared:230 - cifs //nas.lab/projects/big\\040data rw,vers=3.1.1,cache=strict,"
        "username=ann,uid=0,noforceuid,gid=0,noforcegid,addr=10.0.0.5,file_mode=0755,dir_mode=0755,seal,soft,nounix,"
        "serverino,mapposix,rsize=4194304,wsize=4194304,bsize=1048576,retrans=1,echo_interval=60,actimeo=1,closetimeo=1",
        {
            "server": "10.0.0.5",
            "share": "projects",
            "share_path": "big data",
            "user": "ann",
            "dialect": "SMB 3.1.1",
            "encryption": "on",
            "channels": "1",
            "client_cache": "strict",
            "rsize": "4194304",
            "endpoint": "smb://ann@nas.lab/projects/big%20data/FILE",
        },
        {"signing", "flush"},
    ),
    (
        "41 1 0:51 / /mnt/nas rw,relatime - cifs //10.0.0.5/sql rw,vers=3.1.1,sec=ntlmsspi,cache=strict,username=sa,"
        "uid=0,noforceuid,gid=0,noforcegid,addr=10.0.0.5,file_mode=0777,dir_mode=0777,soft,persistenthandles,nounix,serverino,"
        "mapposix,mfsymlinks,nostrictsync,rsize=1048576,wsize=1048576,bsize=1048576,echo_interval=60,actimeo=1,"
        "multichannel,max_channels=2",
        {
            "share": "sql",
            "signing": "on",
            "channels": "2",
            "flush": "not sent to the server",
            "endpoint": "smb://sa@10.0.0.5/sql/FILE",
        },
        {"share_path", "encryption"},
    ),
]


@pytest.mark.parametrize(("line", "told", "untold"), CIFS)
def test_mounts_of_the_kernels_smb_client(tree: Tree, line: str, told: dict[str, str], untold: set[str]) -> None:
    tree.mounts("1 0 8:0 / / rw - ext4 /dev/sda rw", line)
    mount = mount_of("/mnt/nas/dir/file", tree.sys)
    assert mount is not None
    fs = describe(mount, SPACE, None, tree.sys)
    assert fs.remote
    assert {key: fs.detail.get(key) for key in told} == told
    assert not untold & set(fs.detail)
