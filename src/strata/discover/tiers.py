"""Every cache and tier between a program and the medium, with its size where it can be read.

The page cache; bcache; device mapper's cache and writecache (also LVM's); md's journal; ZFS's ARC and L2ARC; the write
cache of the device, whose size no interface of the kernel states.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from strata import units
from strata.discover import dm
from strata.discover.tools import Tools
from strata.host.block import BASE, SECTOR
from strata.host.proc import Sys
from strata.model.hardware import Tier
from strata.model.survey import Device, FileSystem, Memory

_MODES = ("writeback", "writethrough", "passthrough")
_HUMAN = {"": 1, "k": units.KIB, "M": units.MIB, "G": units.GIB, "T": units.TIB}


def tiers(fs: FileSystem, devices: tuple[Device, ...], memory: Memory, sys: Sys, tools: Tools) -> tuple[Tier, ...]:
    """The nearest to the program first."""
    found: list[Tier] = []
    if fs.kind == "zfs":
        found += _zfs(sys)
    elif not fs.kind.startswith(("tmpfs", "ramfs")):
        # What could be cached, not what is now.
        size = min(memory.total, memory.limit or memory.total)
        found.append(Tier(kind="page cache", at="host", size=size, mode="writeback", dirty=memory.dirty))
    for device in devices:
        found += [*_bcache(device, sys), *_device_mapper(device, sys, tools), *_md(device, sys)]
        if device.write_cache == "write back" and not device.members:
            found.append(Tier(kind="device write cache", at=device.name, mode="writeback"))
    return tuple(found)


def _zfs(sys: Sys) -> Iterator[Tier]:
    stats = {w[0]: int(w[2]) for line in sys.lines("/proc/spl/kstat/zfs/arcstats") if _counts(w := line.split())}
    if "size" in stats:
        yield Tier(kind="ARC", at="host", size=stats.get("c_max", stats["size"]), medium="memory",
                   hit_share=_share(stats, "hits", "misses"))  # fmt: skip
    if stats.get("l2_size"):
        yield Tier(kind="L2ARC", at="host", size=stats.get("l2_asize", stats["l2_size"]),
                   hit_share=_share(stats, "l2_hits", "l2_misses"))  # fmt: skip


def _counts(words: list[str]) -> bool:
    return len(words) == 3 and words[2].isdigit()


def _share(stats: dict[str, int], hits: str, misses: str) -> float | None:
    total = stats.get(hits, 0) + stats.get(misses, 0)
    return stats.get(hits, 0) / total if total else None


def _bcache(device: Device, sys: Sys) -> Iterator[Tier]:
    if device.kind != "bcache":
        return
    home = f"{BASE}/{device.name}/bcache"
    modes = sys.text(f"{home}/cache_mode") or ""
    # A link to the set; it has one cache.
    medium = (sys.real(f"{home}/cache/cache0/../cache0") or sys.real(f"{home}/cache/cache0") or "").split("/")
    name = medium[-2] if len(medium) > 1 and medium[-1] == "bcache" else None
    percent = sys.int(f"{home}/stats_total/cache_hit_ratio")
    yield Tier(
        kind="bcache",
        at=device.name,
        size=_size(name, sys),
        mode=modes.partition("[")[2].partition("]")[0] or modes or None,
        medium=name,
        dirty=_human(sys.text(f"{home}/dirty_data")),
        hit_share=None if percent is None else percent / 100,
    )


def _device_mapper(device: Device, sys: Sys, tools: Tools) -> Iterator[Tier]:
    if device.kind not in ("lvm", "device-mapper") or not (name := device.detail.get("dm_name")):
        return
    for target in dm.targets(name, "table", tools):
        if target.kind == "cache":
            medium = target.device(1, sys)
            mode = next((word for word in target.words if word in _MODES), "writeback")
            dirty, hits = _cache_status(name, tools)
            yield Tier(kind="dm-cache", at=device.name, size=_size(medium, sys), mode=mode, medium=medium,
                       dirty=dirty, hit_share=hits)  # fmt: skip
        elif target.kind == "writecache":
            medium = target.device(2, sys)
            yield Tier(kind="dm-writecache", at=device.name, size=_size(medium, sys), mode="writeback", medium=medium)


def _cache_status(name: str, tools: Tools) -> tuple[int | None, float | None]:
    """Dirty bytes and share of hits: ``metadata-block used/total block used/total read-hits read-misses write-hits
    write-misses demotions promotions dirty …`` (the kernel's device-mapper/cache)."""
    for target in dm.targets(name, "status", tools):
        words = target.words
        if target.kind == "cache" and len(words) > 10 and all(w.isdigit() for w in (words[2], *words[4:11])):
            hits, misses = int(words[4]) + int(words[6]), int(words[5]) + int(words[7])
            share = hits / (hits + misses) if hits + misses else None
            return int(words[10]) * int(words[2]) * SECTOR, share
    return None, None


def _md(device: Device, sys: Sys) -> Iterator[Tier]:
    if device.kind != "md":
        return
    home = f"{BASE}/{device.name}/md"
    mode = (sys.text(f"{home}/journal_mode") or "").partition("[")[2].partition("]")[0]
    if mode:
        yield Tier(kind="md journal", at=device.name, mode={"write-back": "writeback"}.get(mode, "writethrough"))
    pages, disks = sys.int(f"{home}/stripe_cache_size"), sys.int(f"{home}/raid_disks")
    if pages and disks:
        # A page of each member for every entry (md.rst, stripe_cache_size).
        yield Tier(kind="md stripe cache", at=device.name, size=pages * disks * 4096, medium="memory")


def _size(name: str | None, sys: Sys) -> int | None:
    sectors = sys.int(f"{BASE}/{name}/size") if name else None
    return None if sectors is None else sectors * SECTOR


def _human(text: str | None) -> int | None:
    """bcache writes ``1.5G`` for people."""
    match = re.fullmatch(r"(-?\d+(?:\.\d+)?)([kMGT]?)", text or "")
    return round(float(match[1]) * _HUMAN[match[2]]) if match else None
