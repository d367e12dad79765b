"""Chunks, stripes and parity of arrays and volumes, and what follows from them for the file system above.

Sources, the first that knows: md's own files; device mapper's table (root); the limits that a device states for its
queue, which md, LVM and controllers fill with the chunk (``minimum_io_size``) and the stripe (``optimal_io_size``).
"""

from __future__ import annotations

from strata.discover import dm
from strata.discover.tools import Tools
from strata.host.block import BASE, btrfs
from strata.host.proc import Sys
from strata.model.hardware import Geometry
from strata.model.survey import Device

_PARITY = {"raid4": 1, "raid5": 1, "raid6": 2}
_BTRFS_PARITY = {"raid5": 1, "raid6": 2}
_BTRFS_COPIES = {"dup": 2, "raid1": 2, "raid10": 2, "raid1c3": 3, "raid1c4": 4}
_BTRFS_CHUNK = 64 << 10
"""A constant of btrfs (BTRFS_STRIPE_LEN)."""
_MADE = ("md", "lvm", "device-mapper", "raid", "vdo")


def geometry(device: Device, sys: Sys, tools: Tools) -> Geometry | None:
    """Of the device; None where it is not made of chunks, or says nothing of them."""
    if device.kind == "md":
        return _md(device, sys)
    if device.kind in _MADE and (name := device.detail.get("dm_name")):
        lines = dm.targets(name, "table", tools)
        found = [one for one in map(dm.striped, lines) if one is not None]
        if found:
            one = found[0]
            level = one.level if len(lines) == 1 else f"{one.level} ({len(lines)} segments)"
            return _of(level, one.chunk, one.members, one.parity, one.copies, "dmsetup table")
        if lines:
            return None
    if device.kind in ("partition", "loop", "crypt", "multipath"):
        # They hand on what the device below states.
        return None
    return _stated(device)


def _of(level: str, chunk: int, members: int, parity: int, copies: int, source: str) -> Geometry:
    data = max(1, (members - parity) // copies)
    return Geometry(
        level=level, chunk=chunk, stripe=chunk * data, members=members, data=data, parity=parity, copies=copies,
        source=source,
    )  # fmt: skip


def _md(device: Device, sys: Sys) -> Geometry | None:
    home = f"{BASE}/{device.name}/md"
    level, chunk, members = sys.text(f"{home}/level"), sys.int(f"{home}/chunk_size"), sys.int(f"{home}/raid_disks")
    if level is None or not members or not chunk:
        # A mirror has no chunks.
        return None
    copies = 1
    if level == "raid10":
        # Copies near to each other in the lowest byte, far ones in the next (md(4)).
        layout = sys.int(f"{home}/layout") or 0x102
        copies = max(1, (layout & 0xFF) * (layout >> 8 & 0xFF))
    return _of(level, chunk, members, _PARITY.get(level, 0), copies, "md")


def _stated(device: Device) -> Geometry | None:
    chunk, stripe = device.minimum_io or 0, device.optimal_io or 0
    # Many disks state their physical block, or the largest request, which say nothing of an array.
    if chunk <= (device.physical_block or 4096) or stripe <= chunk or stripe % chunk:
        return None
    data = stripe // chunk
    return Geometry(level="unknown", chunk=chunk, stripe=stripe, data=data, source="the limits of its queue")


def btrfs_geometry(carrier: str | None, sys: Sys) -> Geometry | None:
    """Of the data of a btrfs that has this device; None where a block group lies on one device."""
    uuid = next((uuid for uuid, members in btrfs(sys).items() if carrier in members), None)
    if uuid is None:
        return None
    home = f"/sys/fs/btrfs/{uuid}"
    used = {
        profile: sys.int(f"{home}/allocation/data/{profile}/total_bytes") or 0
        for profile in sys.names(f"{home}/allocation/data")
        if sys.exists(f"{home}/allocation/data/{profile}/total_bytes")
    }
    level = max(used, key=lambda profile: used[profile], default="single")
    members = len(btrfs(sys)[uuid])
    copies = _BTRFS_COPIES.get(level, 1)
    if level in ("single", "dup"):
        return None
    name = level if len(used) == 1 else f"{level} (of {', '.join(sorted(used))})"
    if level.startswith("raid1") and level != "raid10":
        # A chunk of a mirror is a whole block group: nothing is striped.
        return None
    return _of(name, _BTRFS_CHUNK, members, _BTRFS_PARITY.get(level, 0), copies, "btrfs")
