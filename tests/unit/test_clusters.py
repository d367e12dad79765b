"""What survey knows of a cluster's volume, from files in the form that the kernel's source and manual pages give.

No real cluster was read: `id`, `jid` and `proto_name` as fs/gfs2/sys.c writes them, `addr_list` as fs/dlm/config.c,
nodes of O2CB as o2cb(7) and fs/ocfs2/cluster/nodemanager.c, options as fs/ocfs2/super.c and gfs2(5).
"""

from __future__ import annotations

from pathlib import Path

from kernel_tree import Tree
from surveys import GOOD

from strata.discover.clusters import describe_gfs2, describe_ocfs2
from strata.discover.filesystem import _kind_detail
from strata.discover.stackfile import draft
from strata.host.mounts import Mount, parse
from strata.model.stack import Stack
from strata.model.survey import Survey

GFS2 = "61 28 253:3 / /mnt/vol rw,noatime shared:12 - gfs2 /dev/mapper/vg_cl-lv_cl rw,seclabel"
OCFS2 = (
    "70 28 8:17 / /ocfs rw,relatime shared:9 - ocfs2 /dev/sdb1 rw,_netdev,heartbeat=local,nointr,data=ordered,"
    "errors=remount-ro,atime_quantum=60,coherency=full,user_xattr,acl"
)


def mount_of(line: str) -> Mount:
    found = parse(line)
    assert found is not None
    return found


def gfs2(tmp_path: Path) -> Tree:
    tree = Tree(tmp_path)
    for table, devno, jid in (("web:other", "253:2", 0), ("web:vol", "253:3", 1)):
        tree.file(f"/sys/fs/gfs2/{table}/id", devno)
        tree.file(f"/sys/fs/gfs2/{table}/lock_module/proto_name", "lock_dlm")
        tree.file(f"/sys/fs/gfs2/{table}/lock_module/jid", jid)
    for number, local, address in ((1, 0, "AF_INET 192.0.2.11"), (2, 1, "AF_INET 192.0.2.12"), (3, 0, "")):
        tree.file(f"/sys/kernel/config/dlm/cluster/comms/{number}/local", local)
        tree.file(f"/sys/kernel/config/dlm/cluster/comms/{number}/addr_list", address)
    return tree


def ocfs2(tmp_path: Path) -> Tree:
    tree = Tree(tmp_path)
    tree.file("/sys/fs/ocfs2/cluster_stack", "o2cb")
    for name, local, address in (("db1", 0, "192.0.2.21"), ("db2", 1, "192.0.2.22")):
        tree.file(f"/sys/kernel/config/cluster/ocfs2/node/{name}/local", local)
        tree.file(f"/sys/kernel/config/cluster/ocfs2/node/{name}/ipv4_address", address)
    return tree


def test_the_lock_table_of_a_gfs2_volume_is_that_of_its_device(tmp_path: Path) -> None:
    found = describe_gfs2(mount_of(GFS2), gfs2(tmp_path).sys)
    assert found == {
        "cluster": "web",
        "cluster_volume": "vol",
        "locks": "lock_dlm",
        "journal_number": "1",
        "cluster_nodes": "192.0.2.11, node 3",
    }
    assert _kind_detail(mount_of(GFS2), "dm-3", gfs2(tmp_path / "again").sys).items() >= found.items()


def test_options_say_what_sysfs_does_not_and_local_locks_have_no_other_nodes(tmp_path: Path) -> None:
    bare = mount_of(GFS2 + ",lockproto=lock_nolock,locktable=web:vol")
    assert describe_gfs2(bare, gfs2(tmp_path).sys)["locks"] == "here only"
    assert "cluster_nodes" not in describe_gfs2(bare, gfs2(tmp_path / "again").sys)
    assert describe_gfs2(mount_of(GFS2), Tree(tmp_path / "empty").sys) == {}


def test_an_ocfs2_volume_tells_its_stack_its_coherency_and_the_other_nodes(tmp_path: Path) -> None:
    assert describe_ocfs2(mount_of(OCFS2), ocfs2(tmp_path).sys) == {
        "cluster_stack": "o2cb",
        "cluster": "ocfs2",
        "heartbeat": "local",
        "coherency": "full",
        "cluster_nodes": "db1 (192.0.2.21)",
    }
    alone = mount_of(OCFS2.replace("heartbeat=local", "heartbeat=none"))
    found = describe_ocfs2(alone, ocfs2(tmp_path / "again").sys)
    assert found["locks"] == "here only" and "cluster_nodes" not in found
    by_dlm = describe_ocfs2(mount_of(OCFS2 + ",cluster_stack=pcmk"), gfs2(tmp_path / "pcmk").sys)
    assert by_dlm["cluster_nodes"] == "192.0.2.11, node 3"


def test_file_locks_that_stay_here_leave_a_volume_the_cluster_s(tmp_path: Path) -> None:
    """``localflocks`` is about flock and fcntl alone: the other nodes write to the same blocks."""
    found = describe_gfs2(mount_of(GFS2 + ",localflocks"), gfs2(tmp_path).sys)
    assert (found["locks"], found["file_locks"]) == ("lock_dlm", "here only")
    assert found["cluster_nodes"] == "192.0.2.11, node 3"
    found = describe_ocfs2(mount_of(OCFS2 + ",localflocks"), ocfs2(tmp_path / "o").sys)
    assert found["file_locks"] == "here only" and "locks" not in found
    assert found["cluster_nodes"] == "db1 (192.0.2.21)"


def survey(kind: str, **detail: str) -> Survey:
    system = GOOD.file_system.model_copy(update={"kind": kind, "mount_point": "/mnt/vol", "detail": detail})
    return GOOD.model_copy(update={"file_system": system})


def test_a_draft_of_a_cluster_s_volume_names_the_other_nodes_and_their_layers() -> None:
    text = draft(survey("ocfs2", cluster="db", cluster_nodes="db1 (192.0.2.21), db3"), "/mnt/vol/strata.dat", None)
    assert [x.name for x in Stack.from_toml(text).layers] == ["file system"]
    assert "/mnt/vol is a cluster's volume of db (ocfs2)" in text and "the map of blocks of ocfs2" in text
    # Uncommented, it is a stack: each node has its own way to the same file.
    told = [line.removeprefix("# ") for line in text.splitlines()]
    begin = [n for n, line in enumerate(told) if line in ("[[node]]", "[[layer]]")]
    tables = ["\n".join(told[a:b]) for a, b in zip(begin, [*begin[1:], len(told)], strict=True)]
    kept = [t.partition("\n\n")[0] for t in tables if "block:" not in t]
    stack = Stack.from_toml('[stack]\nname = "s"\n' + "\n".join(kept))
    assert [n.name for n in stack.nodes] == ["node-2", "db1", "db3"]
    assert [(x.name, x.node, x.against) for x in stack.layers] == [
        ("file system", "node-2", ()),
        ("file system, db1", "db1", ("file system",)),
        ("file system, db3", "db3", ("file system",)),
    ]
    assert 'counters = "http://192.0.2.21:9100/metrics"' in text


def test_names_of_others_stay_in_their_comments_and_an_address_with_colons_in_brackets() -> None:
    rough = 'a"b\n[[layer]]\x1b[31m\udcff \u202e'
    text = draft(survey("ocfs2", cluster=rough, cluster_nodes=f"{rough} (2001:db8::1), {'x' * 5000}"), "/mnt/d", None)
    assert [n.name for n in Stack.from_toml(text).nodes] == ["node-2"]
    assert [x.name for x in Stack.from_toml(text).layers] == ["file system"]
    assert all(line.isprintable() for line in text.splitlines()) and text.encode()
    assert 'counters = "http://[2001:db8::1]:9100/metrics"' in text


def test_a_draft_claims_no_more_of_other_nodes_than_is_known() -> None:
    """The lock manager's table has the members of the cluster, and not which of them have this volume mounted."""
    text = draft(survey("gfs2", cluster="web", cluster_nodes="192.0.2.11"), "/mnt/d", None)
    assert "other nodes may have the same device mounted" in text and "other nodes may write to" in text


def test_a_volume_whose_nodes_are_not_known_or_that_has_none() -> None:
    assert '# name = "NODE"' in draft(survey("gfs2"), "/mnt/vol/strata.dat", None)
    alone = draft(survey("gfs2", locks="here only"), "/mnt/vol/strata.dat", None)
    assert "cluster's volume" not in alone and alone.count("[[node]]") == 1
