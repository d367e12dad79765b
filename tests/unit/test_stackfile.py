"""A draft is a stack file that reads back, whatever the names in it."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_tree import Tree
from surveys import DISK, GOOD, PART

from strata.discover.clients import describe_gluster, describe_rbd
from strata.discover.stackfile import draft
from strata.host.mounts import Mount
from strata.model.stack import Stack
from strata.model.survey import Survey


def fs(**facts: object) -> Survey:
    return GOOD.model_copy(update={"file_system": GOOD.file_system.model_copy(update=facts)})


def test_disk_file_system_and_share() -> None:
    stack = Stack.from_toml(draft(GOOD, "/data/strata.dat", "nbd://127.0.0.1:10809/x"))
    assert [(layer.name, layer.endpoint, layer.on, layer.expect.overhead_max) for layer in stack.layers] == [
        ("disk", "block:/dev/sda1", (), None),
        ("file system", "file:/data/strata.dat", ("disk",), 0.05),
        ("share", "nbd://127.0.0.1:10809/x", ("file system",), 0.15),
    ]
    assert all(layer.expect.source for layer in stack.layers if layer.on)
    assert [(n.name, n.owner) for n in stack.nodes] == [("node-2", True)]


def test_without_a_share() -> None:
    assert [layer.name for layer in Stack.from_toml(draft(GOOD, "/d", None)).layers] == ["disk", "file system"]


DENIED = GOOD.model_copy(update={"devices": (PART.model_copy(update={"detail": {"raw_read": "permission denied"}}),)})


@pytest.mark.parametrize(
    ("survey", "reason"),
    [
        (DENIED, "/dev/sda1 may not be read raw: permission denied"),
        (fs(kind="btrfs"), "do not map to places on one device"),
        (fs(kind="zfs"), "do not map"),
        (fs(kind="nfs4", remote=True), "disk on another machine"),
        (fs(options=("rtdev=/dev/sdb",)), "realtime device"),
        (GOOD.model_copy(update={"devices": ()}), "no visible block device below"),
    ],
)
def test_no_disk_layer_with_its_reason(survey: Survey, reason: str) -> None:
    text = draft(survey, "/data/strata.dat", None)
    assert reason in text
    assert '# endpoint = "block:/dev/' in text
    stack = Stack.from_toml(text)
    assert [(layer.name, layer.on) for layer in stack.layers] == [("file system", ())]


MPATH = PART.model_copy(
    update={"name": "dm-0", "path": "/dev/dm-0", "kind": "multipath", "members": ("sda", "sdb"), "transport": None}
)
PATHS = tuple(
    DISK.model_copy(update={"name": n, "path": f"/dev/{n}", "detail": {"raw_read": "yes"}}) for n in MPATH.members
)


def test_each_path_of_a_multipath_device_is_a_layer_below_it() -> None:
    stack = Stack.from_toml(draft(GOOD.model_copy(update={"devices": (MPATH, *PATHS)}), "/data/strata.dat", None))
    disk = stack.layer("disk")
    assert [(layer.name, layer.on) for layer in stack.layers] == [
        ("path sda", ()),
        ("path sdb", ()),
        ("disk", ("path sda", "path sdb")),
        ("file system", ("disk",)),
    ]
    assert disk.expect.faster == "paths" and stack.may_be_faster(disk, stack.layer("path sdb"))
    refused = PATHS[1].model_copy(update={"detail": {"raw_read": "no such device"}})
    one = Stack.from_toml(draft(GOOD.model_copy(update={"devices": (MPATH, PATHS[0], refused)}), "/d", None))
    assert (one.layer("disk").on, one.layer("disk").expect.faster) == (("path sda",), None)


def test_paths_below_a_volume_of_lvm_hold_its_blocks_elsewhere() -> None:
    lv = MPATH.model_copy(update={"name": "dm-1", "kind": "lvm", "members": ("dm-0",)})
    text = draft(GOOD.model_copy(update={"devices": (lv, MPATH, *PATHS)}), "/data/strata.dat", None)
    assert "the paths of dm-0 (sda, sdb) have other offsets" in text
    assert [layer.name for layer in Stack.from_toml(text).layers] == ["disk", "file system"]


def mounted(kind: str, source: str, **detail: str) -> tuple[str, Stack]:
    facts = {
        "kind": kind,
        "source": source,
        "remote": True,
        "device": None,
        "mount_point": "/mnt/nas",
        "detail": detail,
    }
    text = draft(fs(**facts).model_copy(update={"devices": ()}), "/mnt/nas/a b/strata.dat", None)
    return text, Stack.from_toml(text)


def test_a_mounted_nfs_export_is_held_against_the_same_file_past_the_mount() -> None:
    text, stack = mounted("nfs", "nas:/vol", endpoint="nfs://nas/vol/FILE", server="192.0.2.7")
    assert [(x.name, x.endpoint, x.on, x.against) for x in stack.layers] == [
        ("past the mount", "nfs://nas/vol/a%20b/strata.dat", (), ()),
        ("file system", "file:/mnt/nas/a b/strata.dat", (), ("past the mount",)),
    ]
    assert '# name = "192.0.2.7"' in text and '# counters = "http://192.0.2.7:9100/metrics"' in text
    assert not any(node.owner for node in stack.nodes), "the data is not here"


@pytest.mark.parametrize(
    ("kind", "source", "detail", "said"),
    [
        ("cifs", "//nas/data", {"endpoint": "smb://ann@nas/data/FILE"},
         ['# endpoint = "smb://ann@nas/data/a%20b/strata.dat"', "it needs a password", '# name = "nas"']),
        ("fuse.glusterfs", "g1:/vol", {"endpoint": "gluster://g1/vol/FILE", "bricks": "g1:/srv/brick, g2:/srv/brick"},
         ['# endpoint = "gluster://g1/vol/a%20b/strata.dat"', "gfapi", "g1:/srv/brick, g2:/srv/brick"]),
        ("ceph", "mon1,mon2:/", {}, ["rbd:POOL/IMAGE"]),
        ("9p", "hostshare", {}, ['# name = "hostshare"']),
    ],
)  # fmt: skip
def test_what_needs_more_than_the_survey_knows_is_a_comment(
    kind: str, source: str, detail: dict[str, str], said: list[str]
) -> None:
    text, stack = mounted(kind, source, **detail)
    assert all(words in text for words in said), text
    assert [(x.name, x.on, x.against) for x in stack.layers] == [("file system", (), ())]
    if detail:
        # What is commented out is a table that reads, once its reason does no longer hold.
        wanted = [line.removeprefix("# ") for line in text.splitlines() if line.startswith("# ")]
        table = wanted[wanted.index("[[layer]]") :][:4]
        assert Stack.from_toml('[stack]\nname="s"\n[[node]]\nname="node-2"\n' + "\n".join(table)).layers


def test_clusters_are_described_as_far_as_this_machine_knows(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    for host in ("g1", "g2"):
        told = f"hostname={host}\npath=/srv/a-brick\nlisten-port=49152"
        tree.file(f"/var/lib/glusterd/vols/vol/bricks/{host}:-srv-a-brick", told)
    mount = Mount(1, "0:50", "/", "/mnt/g", "fuse.glusterfs", "g1:/vol", ("rw",))
    assert describe_gluster(mount, tree.sys) == {
        "endpoint": "gluster://g1/vol/FILE",
        "bricks": "g1:/srv/a-brick, g2:/srv/a-brick",
    }
    bare = dataclasses.replace(mount, source="/etc/glusterfs/x.vol")
    assert describe_gluster(bare, tree.sys) == {}
    for key, value in {"pool": "data", "name": "disk one", "current_snap": "-"}.items():
        tree.file(f"/sys/bus/rbd/devices/0/{key}", value)
    assert describe_rbd("rbd0", tree.sys) == {"endpoint": "rbd:data/disk%20one"}
    tree.file("/sys/bus/rbd/devices/0/current_snap", "monday")
    assert describe_rbd("rbd0", tree.sys) == describe_rbd("rbd7", tree.sys) == {}


NAMES = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
"""No host and no path has a NUL in its name, and none is read from a file."""


@given(st.text(NAMES, min_size=1), st.text(NAMES))
def test_any_name_survives(host: str, path: str) -> None:
    survey = GOOD.model_copy(update={"hostname": host})
    stack = Stack.from_toml(draft(survey, f"/data/{path}", None))
    assert stack.nodes[0].name == host
    assert stack.layers[-1].endpoint == f"file:/data/{path}"
