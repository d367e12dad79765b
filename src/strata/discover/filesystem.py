"""The file system under a path: its kind, its options, its space, and whether it is somewhere else."""

from __future__ import annotations

import os

from strata.discover import clients, clusters
from strata.host.mounts import NFS_KINDS, SMB_KINDS, Mount
from strata.host.proc import Sys
from strata.model.survey import FileSystem

_NETWORK = {
    *NFS_KINDS,
    *SMB_KINDS,
    "smbfs",
    "ceph",
    "glusterfs",
    "lustre",
    "beegfs",
    "gpfs",
    "pvfs2",
    "afs",
    "9p",
    "virtiofs",
    "vboxsf",
    "prl_fs",
    "ncpfs",
    "coda",
    "orangefs",
}
_NETWORK_FUSE = {
    "fuse.glusterfs",
    "fuse.sshfs",
    "fuse.s3fs",
    "fuse.rclone",
    "fuse.ceph",
    "fuse.ceph-fuse",
    "fuse.juicefs",
    "fuse.gcsfuse",
    "fuse.mfs",
    "fuse.seaweedfs",
    "fuse.curlftpfs",
    "fuse.quobyte",
    "fuse.mount-s3",
    "fuse.geesefs",
}
# Of a remote mount's options, those that shape its I/O; the others stay in ``options``.
_TELLING = (
    "vers",
    "proto",
    "rsize",
    "wsize",
    "bsize",
    "nconnect",
    "max_connect",
    "sec",
    "seal",
    "sign",
    "cache",
    "multichannel",
    "max_channels",
    "actimeo",
    "timeo",
    "addr",
    "port",
    "trans",
    "msize",
    "rdma",
)
_CLIENTS = {
    **dict.fromkeys(NFS_KINDS, clients.describe_nfs),
    **dict.fromkeys(SMB_KINDS, clients.describe_cifs),
    **dict.fromkeys(clients.GLUSTER_KINDS, clients.describe_gluster),
    "gfs2": clusters.describe_gfs2,
    "ocfs2": clusters.describe_ocfs2,
}


def is_remote(kind: str) -> bool:
    """True when the file system's data lies on another machine (or, for 9p and virtiofs, on the host)."""
    return kind in _NETWORK or kind in _NETWORK_FUSE


def describe(mount: Mount, space: os.statvfs_result, device: str | None, sys: Sys) -> FileSystem:
    """The file system of this mount."""
    remote = is_remote(mount.kind)
    return FileSystem(
        kind=mount.kind,
        source=mount.source,
        mount_point=mount.point,
        options=mount.options,
        device=device,
        block_size=space.f_bsize,
        size=space.f_blocks * space.f_frsize,
        free=space.f_bfree * space.f_frsize,
        available=space.f_bavail * space.f_frsize,
        remote=remote,
        detail={**(_remote_detail(mount) if remote else {}), **_kind_detail(mount, device, sys)},
    )


def _remote_detail(mount: Mount) -> dict[str, str]:
    told = {key: value for key, _, value in (o.partition("=") for o in mount.options) if key in _TELLING}
    server = told.get("addr") or server_of(mount.source)
    return {**({"server": server} if server else {}), **{k: v or "yes" for k, v in told.items()}}


def server_of(source: str) -> str | None:
    """``nas`` from ``nas:/export``, ``//nas/share``, ``user@nas:/x``, ``[fe80::1]:/x``, ``mon1,mon2:/``."""
    if source.startswith("//"):
        return source[2:].partition("/")[0] or None
    if source.startswith("["):
        return source[1:].partition("]")[0] or None
    host, colon, _ = source.partition(":")
    return host.rpartition("@")[2] or None if colon else None


def _kind_detail(mount: Mount, device: str | None, sys: Sys) -> dict[str, str]:
    pairs = mount.pairs
    found = _CLIENTS[mount.kind](mount, sys) if mount.kind in _CLIENTS else {}
    if mount.kind == "overlay":
        found |= {k: pairs[k] for k in ("upperdir", "lowerdir") if k in pairs}
    if mount.kind == "tmpfs":
        found["medium"] = "memory"
        found |= {k: pairs[k] for k in ("size", "huge") if k in pairs}
    if "data" in pairs:
        found["journal"] = pairs["data"]
    for key in ("compress", "compress-force", "compress_algorithm"):
        if key in pairs and pairs[key] not in ("no", "none"):
            found["compression"] = pairs[key]
    # Only ext4 keeps such a count; its absence means nothing.
    if device and mount.kind == "ext4" and (written := sys.int(f"/sys/fs/ext4/{device}/lifetime_write_kbytes")):
        found["lifetime_write_bytes"] = str(written * 1024)
    if device and mount.kind == "ext4" and (errors := sys.int(f"/sys/fs/ext4/{device}/errors_count")):
        found["errors"] = str(errors)
    return found
