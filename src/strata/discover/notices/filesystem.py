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
            "ext4 then uses the page cache also for direct I/O, and writes all data twice",
            "mount it with data=ordered for the measurement, or treat the figures as cached",
        )
    elif fs.kind in _MAYBE_NOT_DIRECT or fs.kind.startswith("fuse."):
        yield warn(
            "fs.no-direct",
            f"{fs.kind} at {fs.mount_point} may not support direct I/O",
            "direct requests may be refused, or silently served from the page cache",
            "measure on a file system with direct I/O (ext4, XFS), or treat the figures as cached",
        )


def memory_backed(survey: Survey) -> Iterator[Notice]:
    """RAM is not a disk."""
    fs = survey.file_system
    if fs.kind in _MEMORY:
        yield warn(
            "fs.memory",
            f"{fs.mount_point} is {fs.kind}: it is in main memory",
            "every figure measured here is of memory copies, not of a disk",
            "give a path on the disk to measure (findmnt lists the mounts)",
        )


def overlay(survey: Survey) -> Iterator[Notice]:
    """A container's root."""
    fs = survey.file_system
    if fs.kind == "overlay":
        yield warn(
            "fs.overlay",
            f"{fs.mount_point} is an overlay (usual for the root of a container)",
            "the first write to an existing file copies the whole file, and the disk below may not be visible here",
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
            "a measurement includes this machine, the network, the server and its disk",
            f"run strata survey on {server} too, and write a stack file with its disk as the first layer"
            + (f"; its share without this mount is {fs.detail['endpoint']}" if "endpoint" in fs.detail else ""),
        )
    if fs.detail.get("flush"):
        yield warn(
            "fs.flush-not-sent",
            f"{fs.mount_point} is mounted with nostrictsync",
            "fsync returns without asking the server, so durable writes look as fast as others",
            "mount it without nostrictsync for a measurement of durable writes",
        )
    if fs.detail.get("when_silent", "").startswith("errors"):
        yield warn(
            "fs.soft-mount",
            f"{fs.mount_point} is mounted with soft",
            "if the server does not answer in time, requests fail instead of being retried: a stall becomes an error",
            "mount it with hard, unless soft is used in production; errors are counted in the results",
        )


def copy_on_write(survey: Survey) -> Iterator[Notice]:
    """Data moves with each write."""
    fs = survey.file_system
    if fs.kind in _COPY_ON_WRITE and "nodatacow" not in fs.options:
        yield info(
            "fs.copy-on-write",
            f"{fs.kind} is copy-on-write",
            "random writes fragment the file, so later sequential reads are slower than on a new file, "
            "and a raw read of the device cannot use the same blocks",
            "refill the file before each comparison; on btrfs, chattr +C on the directory avoids this",
        )


def compression(survey: Survey) -> Iterator[Notice]:
    """Compressible data makes disks look fast."""
    fs = survey.file_system
    if how := fs.detail.get("compression"):
        yield warn(
            "fs.compression",
            f"{fs.mount_point} compresses ({how})",
            "compressible data is smaller on disk than written; the figures then depend on the CPU",
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
            f"{fs.mount_point} has {units.percent(share)} of its space free",
            "a nearly full file system allocates more slowly and fragments files: the figures reflect this state",
            "free some space, or measure a file that was written before the file system filled up",
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
            "no test file can be created",
            f"mount -o remount,rw {fs.mount_point}, or give another path",
        )
    if "sync" in fs.options:
        yield warn(
            "fs.sync",
            f"{fs.mount_point} is mounted with sync",
            "every write waits for the disk, whatever the workload requests",
            "mount it without sync, unless sync is used in production",
        )
    if "errors" in fs.detail:
        yield warn(
            "fs.errors",
            f"{fs.mount_point} has recorded {units.plural(int(fs.detail['errors']), 'file system error')}",
            "a damaged file system or a failing disk gives meaningless figures",
            "check dmesg and the file system (e2fsck) before measuring",
        )


CHECKS = (direct, memory_backed, overlay, remote, copy_on_write, compression, space, options)
