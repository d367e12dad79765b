"""How a file system places data, and what follows from the geometry of the array below it."""

from __future__ import annotations

import math
import re

from strata import units
from strata.discover.tools import Tools
from strata.host.block import SECTOR
from strata.host.proc import Sys
from strata.model.hardware import UNIT_ADVISED, Geometry, Placing
from strata.model.survey import Device, FileSystem

_LARGE_ORDER = 8
"""Of 4 KiB blocks: a free run of 1 MiB."""
_NO_BLOCKS = ("tmpfs", "ramfs", "devtmpfs", "proc", "sysfs", "overlay")


def placing(fs: FileSystem, devices: tuple[Device, ...], sys: Sys, tools: Tools) -> Placing | None:
    """Of a file system on devices of this machine; None for others."""
    if fs.remote or fs.kind in _NO_BLOCKS or fs.block_size <= 0:
        return None
    below = geometry_below(fs, devices)
    unit = _unit(fs, tools)
    stripe_unit, stripe_width = _believed(fs)
    small, groups = _free_space(fs, sys)
    return Placing(
        unit=unit,
        fragments_per_gib=-(-units.GIB // unit),
        unit_advised=below.unit if below else UNIT_ADVISED,
        align=below.stripe if below else max(units.MIB, *(d.physical_block or 0 for d in devices), 0),
        stripe_unit=stripe_unit,
        stripe_width=stripe_width,
        mkfs=mkfs(fs.kind, fs.block_size, below) if below else "",
        free_groups=groups,
        free_groups_small=small,
    )


def geometry_below(fs: FileSystem, devices: tuple[Device, ...]) -> Geometry | None:
    """The array that the file system meets first."""
    return fs.geometry or next((d.geometry for d in devices if d.geometry is not None), None)


def mkfs(kind: str, block: int, array: Geometry) -> str:
    """The options that say the geometry when the file system is made; empty for those that have none."""
    if array.data < 2 and array.parity == 0:
        return ""
    if kind == "xfs":
        return f"mkfs.xfs -d su={array.chunk},sw={array.data or array.stripe // array.chunk}"
    if kind in ("ext2", "ext3", "ext4") and array.chunk % block == 0:
        return f"mkfs.{kind} -E stride={array.chunk // block},stripe_width={array.stripe // block}"
    return ""


def _unit(fs: FileSystem, tools: Tools) -> int:
    """Of most file systems the block; ZFS cuts a file into records."""
    if fs.kind == "zfs":
        said = (
            tools.text("record size of ZFS", "zfs", "get", "-Hp", "-o", "value", "recordsize", fs.source) or ""
        ).strip()
        if said.isdigit() and int(said) > 0:
            return int(said)
    return fs.block_size


def _believed(fs: FileSystem) -> tuple[int | None, int | None]:
    """From the mount's options: XFS says sectors, ext4 the whole stripe in blocks."""
    pairs = dict(option.split("=", 1) for option in fs.options if "=" in option)
    numbers = {key: int(pairs[key]) for key in ("sunit", "swidth", "stripe") if pairs.get(key, "").isdigit()}
    if fs.kind == "xfs" and {"sunit", "swidth"} <= numbers.keys():
        return numbers["sunit"] * SECTOR, numbers["swidth"] * SECTOR
    if fs.kind.startswith("ext") and "stripe" in numbers:
        return None, numbers["stripe"] * fs.block_size
    return None, None


def _free_space(fs: FileSystem, sys: Sys) -> tuple[int | None, int | None]:
    """Block groups whose largest free run is below 1 MiB, and all that have free blocks: of ext4, which keeps lists
    of them (``mb_structs_summary``, where mb_optimize_scan is on). Reading it reads nothing from the disk."""
    if fs.kind != "ext4" or not fs.device:
        return None, None
    counts: dict[int, int] = {}
    part = ""
    for line in sys.lines(f"/proc/fs/ext4/{fs.device}/mb_structs_summary"):
        if not line.startswith((" ", "\t")):
            part = line.partition(":")[0]
        elif part == "max_free_order_lists" and (found := re.search(r"list_order_(\d+)_groups: (\d+)", line)):
            counts[int(found[1])] = int(found[2])
    groups = sum(counts.values())
    if not groups:
        return None, None
    large = _LARGE_ORDER - round(math.log2(max(fs.block_size, 1024) / 4096))
    return sum(n for order, n in counts.items() if order < large), groups
