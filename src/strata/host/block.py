"""The tree of block devices as sysfs shows it: who is a part, a leg or a holder of whom."""

from __future__ import annotations

import os

from strata.host.proc import Sys

BASE = "/sys/class/block"
SECTOR = 512
"""Bytes of the unit in which the kernel counts, whatever a device's own is."""


def all_names(sys: Sys) -> tuple[str, ...]:
    """Every block device, partitions included."""
    return sys.names(BASE)


def name_of(devno: str, sys: Sys) -> str | None:
    """``vda1`` from ``254:1``; None when the kernel knows no such device."""
    real = sys.real(f"/sys/dev/block/{devno}")
    return real.rsplit("/", 1)[1] if real else None


def devno(rdev: int) -> str:
    """``254:1`` from a ``st_rdev``."""
    return f"{os.major(rdev)}:{os.minor(rdev)}"


def btrfs(sys: Sys) -> dict[str, tuple[str, ...]]:
    """The members of each btrfs that is mounted, by its uuid."""
    home = "/sys/fs/btrfs"
    return {uuid: sys.names(f"{home}/{uuid}/devices") for uuid in sys.names(home)}


def devno_of(name: str, sys: Sys) -> str | None:
    """``254:1`` from ``vda1``."""
    return sys.text(f"{BASE}/{name}/dev")


def node_path(name: str) -> str:
    """The device node. sysfs writes the slash of ``cciss/c0d0`` as an exclamation mark."""
    return "/dev/" + name.replace("!", "/")


def parent(name: str, sys: Sys) -> str | None:
    """The whole disk of a partition; None for anything else."""
    real = sys.real(f"{BASE}/{name}")
    return real.rsplit("/", 2)[1] if real and sys.exists(f"{real}/partition") else None


def partitions(name: str, sys: Sys) -> tuple[str, ...]:
    """The partitions of a whole disk."""
    return tuple(n for n in sys.names(f"{BASE}/{name}") if sys.exists(f"{BASE}/{name}/{n}/partition"))


def holders(name: str, sys: Sys) -> tuple[str, ...]:
    """The devices directly on top: device mapper, MD, bcache."""
    return sys.names(f"{BASE}/{name}/holders")


def slaves(name: str, sys: Sys) -> tuple[str, ...]:
    """The devices directly below: the legs of a device-mapper, MD or multipath device."""
    return sys.names(f"{BASE}/{name}/slaves")


def begins_at(name: str, sys: Sys) -> int:
    """At which byte of what is below it a partition or a loop device begins; 0 for every other one."""
    offset = sys.int(f"{BASE}/{name}/loop/offset")
    return offset if offset is not None else (sys.int(f"{BASE}/{name}/start") or 0) * SECTOR


def loop_backing(name: str, sys: Sys) -> str | None:
    """The file or device under a loop device; None when it is not one or is not set up."""
    return sys.text(f"{BASE}/{name}/loop/backing_file")


def loops(sys: Sys) -> dict[str, str]:
    """Every loop device in use, with what it stands on."""
    found = {n: loop_backing(n, sys) for n in all_names(sys) if n.startswith("loop")}
    return {n: b for n, b in found.items() if b}


def above(name: str, sys: Sys) -> tuple[str, ...]:
    """Everything that would lose its data with ``name``: its partitions, and all holders of these, at any depth."""
    found: list[str] = []
    todo = [name]
    while todo:
        for upper in (*partitions(todo[0], sys), *holders(todo[0], sys)):
            if upper not in found and upper != name:
                found.append(upper)
                todo.append(upper)
        todo.pop(0)
    return tuple(found)
