"""Checks of the devices of the chain."""

from __future__ import annotations

from collections.abc import Iterator

from strata import units
from strata.discover.notices.say import info, warn
from strata.model.survey import Device, Notice, Survey

_NO_BARRIER = {"nobarrier", "barrier=0", "barrier=none"}


def medium(survey: Survey) -> Iterator[Notice]:
    """Devices that are no disk, or hide theirs."""
    for device in survey.devices:
        if device.detail.get("medium") == "memory":
            yield warn(
                "device.memory",
                f"{device.path} ({device.kind}) is in main memory",
                "its figures measure memory and CPU, not a disk",
                "give a path on a real disk, unless this is a test",
            )
        if device.kind == "loop":
            direct = device.detail.get("direct_io") == "1"
            yield warn(
                "device.loop",
                f"{device.path} is a loop device on {device.detail.get('backing_file', 'a file')}",
                "each request passes through two file systems"
                + ("" if direct else ", and the page cache of the lower one can answer instead of the disk"),
                "measure on the lower file system"
                + ("" if direct else f", or losetup --direct-io=on {device.path} to bypass that cache"),
            )
        if device.detail.get("medium", "").startswith("virtual"):
            yield info(
                "device.hidden-medium",
                f"{device.path} is a virtual disk",
                "caches, limits and other guests of the host affect every figure and are not visible from here; "
                "its rotational flag means nothing",
                "ask the operator of the host for cache mode and limits; repeat at another time of day",
            )
        if device.kind == "crypt":
            yield info(
                "device.crypt",
                f"{device.path} is encrypted",
                "each byte costs CPU time: with fast disks the CPU is the limit",
                "cryptsetup benchmark shows the encryption rate of the CPU",
            )


def alignment(survey: Survey) -> Iterator[Notice]:
    """A start that is no multiple of the block below makes two requests, or a read and a write, of one."""
    for device in survey.devices:
        unit = device.physical_block or 0
        start = device.partition_start
        off = start % unit if start is not None and unit else 0
        if off or (device.alignment_offset or 0) != 0:
            where = f"starts at byte {start}" if start is not None else f"is shifted by {device.alignment_offset} bytes"
            yield warn(
                "device.misaligned",
                f"{device.path} {where}, its physical blocks are {units.size(unit) if unit else 'of unknown size'}",
                "each aligned write of the file system causes a read-modify-write of two blocks of the disk",
                "recreate the partition at 1 MiB (parted --align optimal)",
            )
        elif start is not None and device.optimal_io and start % device.optimal_io:
            yield info(
                "device.stripe-misaligned",
                f"{device.path} starts at byte {start}, not a multiple of its {units.size(device.optimal_io)} stripe",
                "large requests access one stripe more than needed",
                "start the partition at a multiple of the stripe",
            )


def write_cache(survey: Survey) -> Iterator[Notice]:
    """A volatile cache that is never told to flush."""
    off = _NO_BARRIER & set(survey.file_system.options)
    for device in survey.devices:
        if off and device.write_cache == "write back":
            yield warn(
                "device.write-cache-unflushed",
                f"{device.path} has a write cache and {survey.file_system.mount_point} never flushes it ({min(off)})",
                "write-through and fsync figures are those of the cache: too good, and a power loss loses data",
                f"mount -o remount,barrier {survey.file_system.mount_point}, unless the cache is battery-backed",
            )
            return


def scheduler(survey: Survey) -> Iterator[Notice]:
    """A choice that does not fit the medium."""
    for device in survey.devices:
        if device.detail.get("medium") == "rotating disk" and device.scheduler == "none":
            what, better = "a rotating disk without an I/O scheduler", "mq-deadline"
            why = "requests are not sorted by position, so seeks are longer than necessary"
        elif device.kind == "nvme" and device.scheduler == "bfq":
            what, better = "an NVMe device with the bfq scheduler", "none"
            why = "the CPU cost of the scheduler can limit a fast device"
        else:
            continue
        to_do = f"echo {better} > /sys/block/{_disk(device)}/queue/scheduler, then compare both"
        yield info("device.scheduler", f"{device.path} is {what}", why, to_do)


def array_state(survey: Survey) -> Iterator[Notice]:
    """An array that is busy with itself."""
    for device in survey.devices:
        if device.detail.get("md_degraded", "0") != "0":
            yield warn(
                "device.degraded",
                f"{device.path} runs without {device.detail['md_degraded']} of its members",
                "missing data is reconstructed from the other members: reads cost more than on a complete array",
                f"replace the member and wait for the rebuild: mdadm --detail {device.path}",
            )
        if device.detail.get("md_sync", "idle") not in ("idle", "frozen"):
            yield warn(
                "device.rebuilding",
                f"{device.path} is running: {device.detail['md_sync']}",
                "the array's background I/O takes a part of the performance of every disk",
                "wait until /proc/mdstat shows that it is complete",
            )


def read_only(survey: Survey) -> Iterator[Notice]:
    """Nothing can be written there."""
    for device in survey.devices:
        if device.read_only:
            yield warn(
                "device.read-only",
                f"{device.path} is read-only",
                "writes cannot be measured",
                "check its write protection",
            )


def _disk(device: Device) -> str:
    return device.members[0] if device.kind == "partition" and device.members else device.name


CHECKS = (medium, alignment, write_cache, scheduler, array_state, read_only)
