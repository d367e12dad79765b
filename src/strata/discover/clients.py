"""What this machine knows of storage that others serve: the address for a client of one's own, and how it is reached.

Of a mount by the kernel's NFS or SMB client from its options and statistics, of clusters from what they left here.
"""

from __future__ import annotations

from urllib.parse import quote

from strata.host.mounts import Mount, unescape
from strata.host.proc import Sys

GLUSTER_KINDS = frozenset({"fuse.glusterfs", "glusterfs"})
_GLUSTERD = "/var/lib/glusterd/vols"
_RBD = "/sys/bus/rbd/devices"


def describe_nfs(mount: Mount, sys: Sys) -> dict[str, str]:
    """What the options tell: export, version, transport, longest read and write, connections, what happens when the
    server is silent, what is cached here; and the endpoint that reaches the same server without this mount.

    The connections in use are counted in /proc/self/mountstats, which has a line for each.
    """
    pairs, flags = mount.pairs, frozenset(mount.options)
    host, export = _split(mount.source)
    version = pairs.get("vers") or pairs.get("nfsvers") or ("4" if mount.kind == "nfs4" else "")
    connections = _connections(mount, sys) or pairs.get("nconnect", "")
    uncached = "noac" in flags or pairs.get("actimeo") == "0"
    found = {
        "export": export,
        "protocol": f"NFS {version}" if version else "",
        "transport": pairs.get("proto", ""),
        "longest_read": pairs.get("rsize", ""),
        "longest_write": pairs.get("wsize", ""),
        "connections": connections,
        "when_silent": "errors (soft)" if flags & {"soft", "softerr"} else "waits (hard)" if "hard" in flags else "",
        "attribute_cache": "off" if uncached else "",
        "writes": "each waits for the server (sync)" if "sync" in flags else "",
        "locks": "here only" if "nolock" in flags or pairs.get("local_lock", "none") not in ("none", "") else "",
    }
    if version.startswith("3") and host and export:
        below = mount.root if mount.root not in ("", "/") else ""
        found["endpoint"] = f"nfs://{_bracketed(host)}{quote(export.rstrip('/') + below)}/FILE"
    return {key: value for key, value in found.items() if value}


def _split(source: str) -> tuple[str, str]:
    """Host and export of ``nas:/vol`` and ``[fe80::1]:/vol``."""
    if source.startswith("["):
        host, _, export = source[1:].partition("]:")
    else:
        host, _, export = source.partition(":")
    return host, export


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _connections(mount: Mount, sys: Sys) -> str:
    count, ours = 0, False
    for line in sys.lines("/proc/self/mountstats"):
        words = line.split()
        if line.startswith("device ") and " mounted on " in line:
            ours = len(words) > 4 and unescape(words[4]) == mount.point
        elif ours and words[:1] == ["xprt:"]:
            count += 1
    return str(count) if count else ""


def describe_cifs(mount: Mount, sys: Sys) -> dict[str, str]:
    """What the options tell: share and path below it, user, dialect, signing, encryption, channels, cache.

    An option that is not shown is at the kernel's default, which is said as far as it is one for all versions.
    """
    pairs, flags = mount.pairs, frozenset(mount.options)
    host, _, below = mount.source.removeprefix("//").partition("/")
    share, _, prefix = below.strip("/").partition("/")
    user = pairs.get("username")
    found = {
        "share": share,
        "share_path": prefix,
        "user": user or "",
        "dialect": f"SMB {pairs['vers']}" if "vers" in pairs else "",
        "signing": "on" if "sign" in flags or pairs.get("sec", "").endswith("i") else "",
        "encryption": "on" if "seal" in flags else "",
        "channels": pairs.get("max_channels", "2") if "multichannel" in flags else "1",
        "client_cache": pairs.get("cache", ""),
        "flush": "not sent to the server" if "nostrictsync" in flags else "",
        "endpoint": f"smb://{user + '@' if user else ''}{host}/{quote('/'.join(p for p in (share, prefix) if p))}/FILE",
    }
    return {key: value for key, value in found.items() if value}


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
