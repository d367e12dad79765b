"""File systems: how full they are, in bytes and inodes.

Reads    statvfs(2) of every path it is given, once for each file system.
Makes    ``filesystem_bytes{path=…, kind=total|free|available}`` (B, gauge),
         ``filesystem_inodes{path=…, kind=total|free}`` (inodes, gauge).
Costs    46 µs per sample with 1 path.
Needs    a path that is there.
Blind to file systems without an inode table (btrfs and others say 0 of 0: no such column); quotas; what is promised to
         delayed allocation. A mount whose server is gone would hang it: nfs, cifs and FUSE mounts are not asked.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from strata.host.mounts import NFS_KINDS, SMB_KINDS, existing, mount_of
from strata.model.counters import filesystem
from strata.probes.port import ProbeScope, TableProbe, Told

_MAY_HANG = (*NFS_KINDS, *SMB_KINDS, "ceph", "9p")


class FilesystemProbe(TableProbe):
    """Of the file systems of ``scope.paths``."""

    def __init__(self, scope: ProbeScope) -> None:
        super().__init__()
        self._paths: dict[int, str] = {}
        absent = []
        for path in scope.paths if scope.sys.live else ():
            there = str(existing(Path(path)))
            mount = mount_of(there, scope.sys)
            if mount is not None and (mount.kind in _MAY_HANG or mount.kind.startswith("fuse.")):
                absent.append(f"{path} is on {mount.kind}")
                continue
            try:
                self._paths.setdefault(Path(there).stat().st_dev, there)
            except OSError as e:
                # Between the look and here somebody renamed it.
                absent.append(f"{path} {(e.strerror or str(e)).lower()}")
        self.absent = tuple(absent)
        self.begin()

    def told(self) -> Told:
        found: Told = {}
        for path in self._paths.values():
            with contextlib.suppress(OSError):
                s = os.statvfs(path)
                blocks, inodes = {"total": s.f_blocks, "free": s.f_bfree, "available": s.f_bavail}, {}
                if s.f_files:
                    inodes = {"total": s.f_files, "free": s.f_ffree}
                found |= {(filesystem.BYTES, (path, kind)): n * s.f_frsize for kind, n in blocks.items()}
                found |= {(filesystem.INODES, (path, kind)): n for kind, n in inodes.items()}
        return found


open_probe = FilesystemProbe
