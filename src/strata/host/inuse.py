"""Who else stands on a file or a block device: mounts, swap, loop devices, holders. Only looks, never writes.

Each function returns sentences, one a reason; none means: nothing was found.
"""

from __future__ import annotations

import fcntl
import os
import stat
import struct
from collections.abc import Iterator
from pathlib import Path

from strata.host import block
from strata.host.mounts import mounts, unescape
from strata.host.openers import Place, place_of
from strata.host.proc import Sys, descriptor

_LOOP_GET_STATUS64 = 0x4C05
_LOOP_INFO64_BYTES = 232


def file_users(found: os.stat_result, sys: Sys) -> tuple[str, ...]:
    """Why the file of this ``fstat`` belongs to somebody: it backs a loop device, or it is swap."""
    same = (found.st_dev, found.st_ino)
    users = [f"it is the backing file of /dev/{name}" for name in _loops_on_file(same, sys)]
    users += [f"it is swap ({area})" for area in _swap_areas(sys) if _identity(area) == same]
    return tuple(users)


def device_users(name: str, sys: Sys) -> tuple[str, ...]:
    """Why the block device is not free: itself, its partitions, its parent disk, and all that stands on these."""
    reasons: list[str] = []
    parent = block.parent(name, sys)
    for member, who in _family(name, parent, sys):
        reasons += [f"{who} is mounted at {point}" for point in _mount_points(member, sys)]
        reasons += [f"{who} is swap" for area in _swap_areas(sys) if _is_node_of(area, member, sys)]
        reasons += [
            f"{who} is under the loop device /dev/{loop}"
            for loop, backing in block.loops(sys).items()
            if loop != name and _is_node_of(backing, member, sys)
        ]
        reasons += [f"{who} is a member of the mounted btrfs {uuid}" for uuid in _btrfs_of(member, sys)]
    reasons += [f"it is a member of /dev/{h}" for h in block.holders(name, sys)]
    if parent:
        reasons += [f"its disk /dev/{parent} is a member of /dev/{h}" for h in block.holders(parent, sys)]
    if parts := block.partitions(name, sys):
        reasons.append(f"it has partitions ({', '.join(parts)})")
    reasons += _under_a_loop(name, sys)
    return tuple(dict.fromkeys(reasons))


def lineage(name: str, sys: Sys) -> dict[Place, str]:
    """Every device and file whose bytes are those of the device ``name``: parts, the whole, what is on it and below it.

    With the words that a reason begins with.
    """
    found: dict[Place, str] = {}
    parent = block.parent(name, sys)
    for member, who in _family(name, parent, sys):
        _add(found, member, who, sys)
    todo = [name, *((parent,) if parent else ())]
    while todo:
        lower = todo.pop()
        below = list(block.slaves(lower, sys))
        backing = block.loop_backing(lower, sys)
        try:
            status = Path(backing).stat() if backing else None
        except OSError:
            status = None
        if status is not None and stat.S_ISBLK(status.st_mode):
            below += filter(None, [block.name_of(block.devno(status.st_rdev), sys)])
        elif status is not None:
            found.setdefault(place_of(status), f"{backing}, which it is built on,")
        for one in below:
            upper = block.parent(one, sys)
            for member in (one, upper) if upper else (one,):
                if _add(found, member, f"/dev/{member}, which it is built on,", sys):
                    todo.append(member)
    return found


def _add(found: dict[Place, str], name: str, words: str, sys: Sys) -> bool:
    major, _, minor = (block.devno_of(name, sys) or "").partition(":")
    place: Place = ("device", os.makedev(int(major), int(minor)) if minor else 0, 0)
    if not minor or place in found:
        return False
    found[place] = words
    return True


def _under_a_loop(name: str, sys: Sys) -> list[str]:
    """A loop device writes through to what it stands on: that must be free too."""
    backing = block.loop_backing(name, sys)
    if backing is None:
        return []
    try:
        found = Path(backing).stat()
    except OSError:
        return [f"it is built on {backing}, which cannot be examined"]
    if stat.S_ISBLK(found.st_mode):
        lower = block.name_of(block.devno(found.st_rdev), sys)
        if lower is None:
            return [f"it is built on {backing}, which is unknown"]
        own = f"it is under the loop device /dev/{name}"
        return [f"it is built on {backing}: {r}" for r in device_users(lower, sys) if r != own]
    users = file_users(found, sys)
    return [f"it is built on {backing}: {u}" for u in users if u != f"it is the backing file of /dev/{name}"]


def _family(name: str, parent: str | None, sys: Sys) -> Iterator[tuple[str, str]]:
    """The device, all that stands on it, and its whole disk, each with what a reason calls it."""
    yield name, "it"
    partitions = block.partitions(name, sys)
    for member in block.above(name, sys):
        yield member, f"/dev/{member}, {'its partition' if member in partitions else 'which is built on it'},"
    if parent:
        yield parent, f"/dev/{parent}, its whole disk,"


def _mount_points(name: str, sys: Sys) -> list[str]:
    devno = block.devno_of(name, sys)
    # btrfs mounts under an anonymous number: the source names the device instead.
    return [m.point for m in mounts(sys) if m.devno == devno or _is_node_of(m.source, name, sys)]


def _is_node_of(path: str, name: str, sys: Sys) -> bool:
    if not path.startswith("/"):
        return False
    if path == block.node_path(name):
        return True
    try:
        found = Path(path).stat()
    except OSError:
        return False
    return stat.S_ISBLK(found.st_mode) and block.devno(found.st_rdev) == block.devno_of(name, sys)


def _btrfs_of(name: str, sys: Sys) -> list[str]:
    """Mountinfo names one member of a btrfs of several devices; sysfs names them all."""
    return [uuid for uuid, members in block.btrfs(sys).items() if name in members]


def _swap_areas(sys: Sys) -> list[str]:
    rows = [line.split() for line in sys.lines("/proc/swaps")[1:]]
    return [unescape(r[0]) for r in rows if r]


def _loops_on_file(same: tuple[int, int], sys: Sys) -> list[str]:
    return [n for n, backing in block.loops(sys).items() if _identity(backing) == same or _asked(n) == same]


def _asked(loop: str) -> tuple[int, int] | None:
    """(device, inode) of the backing file from the loop device itself: right also when its path has changed since."""
    info = bytearray(_LOOP_INFO64_BYTES)
    try:
        with descriptor(block.node_path(loop), os.O_RDONLY | os.O_NONBLOCK) as fd:
            fcntl.ioctl(fd, _LOOP_GET_STATUS64, info)
    except OSError:
        return None
    device, inode = struct.unpack_from("QQ", info)
    return device, inode


def _identity(path: str) -> tuple[int, int] | None:
    try:
        found = Path(path).stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
