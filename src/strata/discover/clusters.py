"""What this machine knows of a cluster behind a mount or a device: the address for its own client, and its parts."""

from __future__ import annotations

from urllib.parse import quote

from strata.host.mounts import Mount
from strata.host.proc import Sys

GLUSTER_KINDS = frozenset({"fuse.glusterfs", "glusterfs"})
_GLUSTERD = "/var/lib/glusterd/vols"
_RBD = "/sys/bus/rbd/devices"


def describe_gluster(mount: Mount, sys: Sys) -> dict[str, str]:
    """The address of a file for Gluster's client library and, where this machine is one of the cluster's, its bricks.

    The library goes to glusterd at its own port and to volumes by name; a mount by a volume file has neither.
    """
    host, colon, below = mount.source.partition(":")
    volume, _, path = below.strip("/").partition("/")
    if not colon or not host or not volume:
        return {}
    parts = [quote(part) for part in (volume, path, mount.root.strip("/")) if part]
    found = {"endpoint": f"gluster://{host}/{'/'.join(parts)}/FILE"}
    bricks = []
    for name in sys.names(home := f"{_GLUSTERD}/{volume}/bricks"):
        told = dict(line.split("=", 1) for line in sys.lines(f"{home}/{name}") if "=" in line)
        bricks += [f"{told['hostname']}:{told['path']}"] if {"hostname", "path"} <= told.keys() else []
    return found | ({"bricks": ", ".join(bricks)} if bricks else {})


def describe_rbd(name: str, sys: Sys) -> dict[str, str]:
    """The address of the image behind ``/dev/rbdN`` for Ceph's library; nothing for a snapshot or in a namespace."""
    home = f"{_RBD}/{name.removeprefix('rbd')}"
    pool, image = sys.text(f"{home}/pool"), sys.text(f"{home}/name")
    if not pool or not image or sys.text(f"{home}/pool_ns") or sys.text(f"{home}/current_snap") not in (None, "", "-"):
        return {}
    return {"endpoint": f"rbd:{quote(pool, safe='')}/{quote(image, safe='')}"}
