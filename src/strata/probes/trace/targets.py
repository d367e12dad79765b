"""Devices as the kernel's events number them."""

from __future__ import annotations

from strata.host import block
from strata.host.block import BASE
from strata.host.proc import Sys
from strata.model.trace import TraceTarget


def target(name: str, role: str, sys: Sys) -> TraceTarget | None:
    """A device by its name in /sys/class/block; None when it is not there.

    Requests carry the number of the whole disk, also those of a partition; what enters a partition carries the
    partition's number and the disk's sectors. A disk without a ``mq`` folder has no requests.
    """
    own = _number(block.devno_of(name, sys))
    if own is None:
        return None
    disk = block.parent(name, sys)
    if disk is None:
        return TraceTarget(name=name, dev=own, by_bio=_by_bio(name, sys), role=role)
    whole = _number(block.devno_of(disk, sys))
    start, size = sys.int(f"{BASE}/{name}/start"), sys.int(f"{BASE}/{name}/size")
    if whole is None or start is None or size is None:
        return None
    return TraceTarget(
        name=name, dev=whole, entrance=own, sectors=(start, start + size), by_bio=_by_bio(disk, sys), role=role
    )


def _number(devno: str | None) -> int | None:
    major, _, minor = (devno or "").partition(":")
    return int(major) << 20 | int(minor) if major.isdigit() and minor.isdigit() else None


def _by_bio(disk: str, sys: Sys) -> bool:
    return not sys.exists(f"{BASE}/{disk}/mq")
