"""What this machine knows of a file system that several machines have mounted from one device: GFS2 and OCFS2.

Of a GFS2 volume from ``/sys/fs/gfs2`` and the DLM's tables in configfs, of OCFS2 from its options, ``/sys/fs/ocfs2``
and the tables of O2CB in configfs. The forms are those of the kernel's source (fs/gfs2/sys.c, fs/dlm/config.c,
fs/ocfs2/stackglue.c, fs/ocfs2/cluster/nodemanager.c); no real cluster was read.
"""

from __future__ import annotations

from collections.abc import Iterator

from strata.host.mounts import Mount
from strata.host.proc import Sys

KINDS = ("gfs2", "ocfs2")
_GFS2 = "/sys/fs/gfs2"
_DLM = "/sys/kernel/config/dlm/cluster"
_OCFS2 = "/sys/fs/ocfs2"
_O2CB = "/sys/kernel/config/cluster"
MOST_NODES = 64
"""Of a cluster, that are named."""


def describe_gfs2(mount: Mount, sys: Sys) -> dict[str, str]:
    """Cluster and volume of the lock table, the lock protocol, this machine's journal, and the other nodes."""
    table = mount.pairs.get("locktable") or _gfs2_table(mount, sys)
    cluster, _, volume = table.partition(":")
    home = f"{_GFS2}/{table}/lock_module"
    protocol = mount.pairs.get("lockproto") or sys.text(f"{home}/proto_name") or ""
    found = {
        "cluster": cluster if volume else "",
        "cluster_volume": volume,
        "locks": "here only" if protocol == "lock_nolock" else protocol,
        "file_locks": _file_locks(mount),
        "journal_number": sys.text(f"{home}/jid") or "",
        "cluster_nodes": "" if protocol == "lock_nolock" else ", ".join(_dlm_nodes(sys)),
    }
    return {key: value for key, value in found.items() if value}


def _file_locks(mount: Mount) -> str:
    """``localflocks`` keeps flock and fcntl here; the volume stays the cluster's."""
    return "here only" if "localflocks" in mount.options else ""


def _gfs2_table(mount: Mount, sys: Sys) -> str:
    """Each volume has a folder of its lock table's name, whose ``id`` is the device."""
    return next((name for name in sys.names(_GFS2) if sys.text(f"{_GFS2}/{name}/id") == mount.devno), "")


def _dlm_nodes(sys: Sys) -> Iterator[str]:
    """The address, else the number, of every other node that the lock manager talks to."""
    for number in sys.names(f"{_DLM}/comms")[:MOST_NODES]:
        if sys.text(f"{_DLM}/comms/{number}/local") == "1":
            continue
        words = next(iter(sys.lines(f"{_DLM}/comms/{number}/addr_list")), "").split()
        yield words[-1] if words else f"node {number}"


def describe_ocfs2(mount: Mount, sys: Sys) -> dict[str, str]:
    """Its cluster stack, the other nodes of O2CB, who is heard of, and whether buffered writes are coherent."""
    pairs = mount.pairs
    own = pairs.get("cluster_stack", "") or sys.text(f"{_OCFS2}/cluster_stack") or ""
    alone = pairs.get("heartbeat") == "none"
    found = {
        "cluster_stack": own,
        "cluster": ", ".join(sys.names(_O2CB)) if own in ("", "o2cb") else "",
        "heartbeat": pairs.get("heartbeat", ""),
        "coherency": pairs.get("coherency", ""),
        "preferred_slot": pairs.get("preferred_slot", ""),
        "locks": "here only" if alone else "",
        "file_locks": _file_locks(mount),
        "cluster_nodes": "" if alone else ", ".join(_o2cb_nodes(sys) if own in ("", "o2cb") else _dlm_nodes(sys)),
    }
    return {key: value for key, value in found.items() if value}


def _o2cb_nodes(sys: Sys) -> Iterator[str]:
    """``name (address)`` of every other node."""
    for cluster in sys.names(_O2CB):
        for name in sys.names(f"{_O2CB}/{cluster}/node")[:MOST_NODES]:
            home = f"{_O2CB}/{cluster}/node/{name}"
            if sys.text(f"{home}/local") == "1":
                continue
            address = sys.text(f"{home}/ipv4_address")
            yield f"{name} ({address})" if address else name
