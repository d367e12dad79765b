"""Checks of the file system."""

from __future__ import annotations

from collections.abc import Iterator

from strata import units
from strata.discover.notices.say import info, warn
from strata.model.survey import Notice, Survey

NEARLY_FULL = 0.10
"""Share of space left below which allocators have to search: ext4, XFS and btrfs all slow down in their last tenth."""

LOW_SPACE_BYTES = units.GIB
_MEMORY = {"tmpfs", "ramfs", "devtmpfs"}
_COPY_ON_WRITE = {"btrfs", "zfs", "bcachefs"}
_MAYBE_NOT_DIRECT = {"ramfs", "overlay", "9p", "ecryptfs", "zfs", "fuse", "fuseblk", "vboxsf", "ntfs3", "exfat"}


def direct(survey: Survey) -> Iterator[Notice]:
    """File systems that refuse or only pretend unbuffered I/O."""
    fs = survey.file_system
    if "data=journal" in fs.options:
        yield warn(
            "fs.no-direct",
            f"{fs.mount_point} journals its data (data=journal)",
            "ext4 then serves unbuffered requests through the page cache, and writes all data twice",
            "mount it with data=ordered for the measurement, or read the figures as cached ones",
        )
    elif fs.kind in _MAYBE_NOT_DIRECT or fs.kind.startswith("fuse."):
        yield warn(
            "fs.no-direct",
            f"{fs.kind} at {fs.mount_point} may not do unbuffered I/O",
            "requests may be refused, or be served from the page cache while claiming not to be",
            "measure on a file system with direct I/O (ext4, XFS), or read the figures as cached ones",
        )


def memory_backed(survey: Survey) -> Iterator[Notice]:
    """RAM is not a disk."""
    fs = survey.file_system
    if fs.kind in _MEMORY:
        yield warn(
            "fs.memory",
            f"{fs.mount_point} is {fs.kind}: it lives in main memory",
            "every figure measured here is of memory copies, not of a disk",
            "give a path on the disk that you want to know about (findmnt lists the mounts)",
        )


def overlay(survey: Survey) -> Iterator[Notice]:
    """A container's root."""
    fs = survey.file_system
    if fs.kind == "overlay":
        yield warn(
            "fs.overlay",
            f"{fs.mount_point} is an overlay (usual for the root of a container)",
            "the first write to an existing file copies all of it, and the disk below may not be visible from here",
            "give a path on a volume that is mounted into the container",
        )


def remote(survey: Survey) -> Iterator[Notice]:
    """Data on another machine."""
    fs = survey.file_system
    if fs.remote:
        server = fs.detail.get("server", fs.source)
        yield info(
            "fs.remote",
            f"{fs.mount_point} is {fs.kind} from {server}",
            "what is measured is this machine, the wire, the server and its disk together",
            f"survey {server} too and write a stack file that has its disk as the first layer"
            + (f"; its share without this mount is {fs.detail['endpoint']}" if "endpoint" in fs.detail else ""),
        )
    if fs.detail.get("when_silent", "").startswith("errors"):
        yield warn(
            "fs.soft-mount",
            f"{fs.mount_point} is mounted soft",
            "when the server is silent for too long, requests fail instead of being repeated: a stall is an error here",
            "mount it hard, unless that is how it is used; the errors are counted in the results",
        )


def copy_on_write(survey: Survey) -> Iterator[Notice]:
    """Data moves with each write."""
    fs = survey.file_system
    if fs.kind in _COPY_ON_WRITE and "nodatacow" not in fs.options:
        yield info(
            "fs.copy-on-write",
            f"{fs.kind} writes changed blocks to a new place",
            "random writes scatter the file, so later sequential reads are slower than on the fresh file, "
            "and a raw read of the device cannot be of the same blocks",
            "fill the file anew before each comparison; on btrfs chattr +C on the directory avoids it",
        )


def compression(survey: Survey) -> Iterator[Notice]:
    """Compressible data makes disks look fast."""
    fs = survey.file_system
    if how := fs.detail.get("compression"):
        yield warn(
            "fs.compression",
            f"{fs.mount_point} compresses ({how})",
            "data that compresses reaches the disk smaller than it was written; the figures then are of the processor",
            "keep Strata's incompressible data (the default), or mount it without compression",
        )


def space(survey: Survey) -> Iterator[Notice]:
    """Too little room for a file larger than the caches, or for a calm allocator."""
    fs = survey.file_system
    if fs.size == 0:
        return
    share = fs.available / fs.size
    if share < NEARLY_FULL:
        yield warn(
            "fs.nearly-full",
            f"{fs.mount_point} has {units.percent(share)} of its space left",
            "allocators search longer and scatter files in the last tenth: the figures are of this state, "
            "not of the file system",
            "free some space, or measure on a file that was written while there was some",
        )
    if fs.available < LOW_SPACE_BYTES:
        yield warn(
            "fs.low-space",
            f"{fs.mount_point} has {units.size(fs.available)} for a test file",
            "a small file fits in the caches of disks and controllers, which then answer instead of the medium",
            f"free at least {units.size(LOW_SPACE_BYTES)}, or give a path elsewhere on the same device",
        )


def options(survey: Survey) -> Iterator[Notice]:
    """Mount options that change what a write is."""
    fs = survey.file_system
    if "ro" in fs.options:
        yield warn(
            "fs.read-only",
            f"{fs.mount_point} is mounted read-only",
            "no test file can be made",
            f"mount -o remount,rw {fs.mount_point}, or give another path",
        )
    if "sync" in fs.options:
        yield warn(
            "fs.sync",
            f"{fs.mount_point} is mounted with sync",
            "every write waits for the disk, whatever the workload asks for",
            "mount it without sync, unless that is how it is used",
        )
    if "errors" in fs.detail:
        yield warn(
            "fs.errors",
            f"{fs.mount_point} has recorded {fs.detail['errors']} file system error(s)",
            "a damaged file system or a failing disk does not give figures worth having",
            "look into dmesg and check it (e2fsck) before measuring",
        )


CHECKS = (direct, memory_backed, overlay, remote, copy_on_write, compression, space, options)
