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

import os
from collections.abc import Sequence
from pathlib import Path

from strata.host.mounts import existing, mount_of
from strata.model.counters import Counter, filesystem
from strata.probes.port import Column, Probe, ProbeScope

_MAY_HANG = ("nfs", "nfs4", "cifs", "smb3", "ceph", "9p")


class FilesystemProbe(Probe):
    """Of the file systems of ``scope.paths``."""

    def __init__(self, scope: ProbeScope) -> None:
        super().__init__()
        self._paths: list[str] = []
        self._inodes: list[str] = []
        devices = set()
        absent, columns = [], []
        for path in scope.paths if scope.sys.live else ():
            there = str(existing(Path(path)))
            mount = mount_of(there, scope.sys)
            if mount is not None and (mount.kind in _MAY_HANG or mount.kind.startswith("fuse.")):
                absent.append(f"{path} is on {mount.kind}")
                continue
            try:
                device, counts_inodes = Path(there).stat().st_dev, bool(os.statvfs(there).f_files)
            except OSError as e:
                # Between the look and here somebody renamed it.
                absent.append(f"{path} {(e.strerror or str(e)).lower()}")
                continue
            if device in devices:
                continue
            devices.add(device)
            self._paths.append(there)
            columns += _columns(filesystem.BYTES, there)
            if counts_inodes:
                self._inodes.append(there)
                columns += _columns(filesystem.INODES, there)
        self.columns, self.absent = tuple(columns), tuple(absent)

    def read(self) -> Sequence[float | None]:
        values: list[float | None] = []
        for path in self._paths:
            wanted = 5 if path in self._inodes else 3
            try:
                s = os.statvfs(path)
            except OSError:
                values += [None] * wanted
                continue
            found = [s.f_blocks * s.f_frsize, s.f_bfree * s.f_frsize, s.f_bavail * s.f_frsize, s.f_files, s.f_ffree]
            values += found[:wanted]
        return values

    def close(self) -> None:
        super().close()
        self._paths = []


def _columns(counter: Counter, path: str) -> list[Column]:
    """In the order in which `FilesystemProbe.read` gives them."""
    return [Column(counter, {"path": path, "kind": kind}) for kind in counter.aspects["kind"]]


open_probe = FilesystemProbe
