"""What the survey tells of mounts by the kernel's NFS client, from text as kernels write it."""

from __future__ import annotations

import os
from pathlib import Path

from kernel_tree import Tree

from strata.discover.filesystem import describe
from strata.host.mounts import mount_of

SPACE = os.statvfs_result((1 << 20, 1 << 20, 1 << 20, 1 << 19, 1 << 19, 0, 0, 0, 0, 255))

V3 = (
    "97 24 0:52 / /mnt/nas\\040a rw,relatime shared:60 - nfs nas.example:/vol/data rw,vers=3,rsize=1048576,"
    "wsize=524288,namlen=255,soft,nolock,proto=tcp,nconnect=2,timeo=600,retrans=2,sec=sys,mountaddr=192.0.2.7,mountvers=3,"
    "mountport=20048,mountproto=udp,local_lock=all,addr=192.0.2.7"
)
V4 = (
    "98 24 0:53 / /mnt/four rw,relatime shared:61 - nfs4 [2001:db8::7]:/ rw,vers=4.2,rsize=262144,wsize=262144,"
    "namlen=255,hard,proto=tcp6,nconnect=4,timeo=600,retrans=2,sec=krb5p,noac,clientaddr=2001:db8::1,"
    "local_lock=none,addr=2001:db8::7"
)
SUBDIRECTORY = "99 24 0:52 /sub/dir /mnt/bound rw,relatime - nfs nas.example:/vol/data rw,vers=3,hard,proto=tcp"

MOUNTSTATS = """device /dev/sda1 mounted on / with fstype ext4
device nas.example:/vol/data mounted on /mnt/nas\\040a with fstype nfs statvers=1.1
\topts:\trw,vers=3,rsize=1048576,wsize=524288,soft,proto=tcp,nconnect=2
\tage:\t86400
\tcaps:\tcaps=0x3fc7,wtmult=4096,dtsize=1048576,bsize=0,namlen=255
\tsec:\tflavor=1,pseudoflavor=1
\tbytes:\t1048576 524288 0 0 1048576 524288 256 128
\tRPC iostats version: 1.1  p/v: 100003/3 (nfs)
\txprt:\ttcp 876 1 2 0 33 4711 4711 0 4800 0 2 12 8
\txprt:\ttcp 943 0 1 0 33 4700 4700 0 4790 0 2 12 8
\tper-op statistics
\t        NULL: 1 1 0 44 24 0 0 0 0
\t        READ: 4096 4096 0 557056 4294967 11 4000 4100 0
device [2001:db8::7]:/ mounted on /mnt/four with fstype nfs4 statvers=1.1
\topts:\trw,vers=4.2
\txprt:\ttcp 700 0 1 0 0 9 9 0 9 0 2 0 0
"""


def detail(root: Path, path: str, *, stats: bool = True) -> dict[str, str]:
    tree = Tree(root)
    tree.mounts("24 1 8:1 / / rw - ext4 /dev/sda1 rw", V3, V4, SUBDIRECTORY)
    if stats:
        tree.file("/proc/self/mountstats", MOUNTSTATS)
    mount = mount_of(path, tree.sys)
    assert mount is not None
    return describe(mount, SPACE, None, tree.sys).detail


def test_version_3_names_the_endpoint_without_the_mount(tmp_path: Path) -> None:
    found = detail(tmp_path, "/mnt/nas a/file")
    assert found["server"] == "192.0.2.7"
    assert found["export"] == "/vol/data"
    assert found["protocol"] == "NFS 3"
    assert (found["longest_read"], found["longest_write"]) == ("1048576", "524288")
    assert found["connections"] == "2", "one line of mountstats for each"
    assert found["when_silent"] == "errors (soft)"
    assert found["locks"] == "here only"
    assert found["endpoint"] == "nfs://nas.example/vol/data/FILE"


def test_version_4_has_no_endpoint_and_says_what_is_cached(tmp_path: Path) -> None:
    found = detail(tmp_path, "/mnt/four/file")
    assert found["protocol"] == "NFS 4.2"
    assert found["server"] == "2001:db8::7"
    assert found["transport"] == "tcp6"
    assert found["connections"] == "1", "four were asked for, one is there"
    assert found["when_silent"] == "waits (hard)"
    assert found["attribute_cache"] == "off"
    assert "endpoint" not in found
    assert "locks" not in found


def test_without_statistics_the_options_tell(tmp_path: Path) -> None:
    assert detail(tmp_path, "/mnt/four/x", stats=False)["connections"] == "4"


def test_a_directory_of_an_export(tmp_path: Path) -> None:
    found = detail(tmp_path, "/mnt/bound/x")
    assert found["endpoint"] == "nfs://nas.example/vol/data/sub/dir/FILE"
    assert "connections" not in found
