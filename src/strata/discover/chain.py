"""The devices under a mount, from the one that carries the file system down to the medium."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from strata.discover.devices import device
from strata.host import block
from strata.host.mounts import Mount, mount_of, mounts
from strata.host.proc import Sys
from strata.model.survey import Device


def carriers(mount: Mount, sys: Sys) -> tuple[str, ...]:
    """The names of the devices that hold the file system: none (tmpfs, NFS …), one, or several (btrfs)."""
    if name := block.name_of(mount.devno, sys):
        return (name,)
    source = _name_of_source(mount.source, sys)
    if source is None:
        return ()
    # btrfs mounts name one member only; sysfs lists the whole pool.
    pools = (sys.names(f"/sys/fs/btrfs/{uuid}/devices") for uuid in sys.names("/sys/fs/btrfs"))
    pool = next((members for members in pools if source in members), ())
    return (source, *(m for m in pool if m != source))


def chain(mount: Mount, sys: Sys) -> tuple[Device, ...]:
    """Every device the I/O passes, each once, upper before lower."""
    found: dict[str, Device] = {}
    for name in carriers(mount, sys):
        _follow(name, sys, found)
    return tuple(found.values())


def _follow(name: str, sys: Sys, found: dict[str, Device]) -> None:
    if name in found:
        return
    this = device(name, sys)
    backing = this.detail.get("backing_file")
    lower: tuple[str, ...] = this.members
    if backing:
        lower, facts = _under_loop(backing, sys)
        this = this.model_copy(update={"members": lower, "detail": {**this.detail, **facts}})
    found[name] = this
    for member in lower:
        _follow(member, sys, found)


def _under_loop(backing: str, sys: Sys) -> tuple[tuple[str, ...], dict[str, str]]:
    """A loop device stands on a device, or on a file whose own file system has devices in turn."""
    if name := _name_of_source(backing, sys):
        return (name,), {}
    path = backing.removesuffix(" (deleted)")
    if sys.live and not Path(path).exists():
        return (), {"backing_file_system": "unknown: the file is not visible from here"}
    lower = mount_of(path, sys)
    if lower is None:
        return (), {}
    return carriers(lower, sys), {"backing_file_system": lower.kind, "backing_mount": lower.point}


def overlay_upper(mount: Mount, sys: Sys) -> Mount | None:
    """The mount that takes the writes of an overlay; None when it is not one or its directory is not visible."""
    upper = dict(o.split("=", 1) for o in mount.options if "=" in o).get("upperdir")
    if mount.kind != "overlay" or upper is None or (sys.live and not Path(upper).is_dir()):
        return None
    lower = mount_of(upper, sys)
    return None if lower is None or lower.kind == "overlay" else lower


def mount_under(path: Path, sys: Sys) -> Mount | None:
    """As `mount_of`, and for a path that does not exist yet the mount of its nearest parent that does."""
    if not sys.live:
        return mount_of(path, sys)
    path = path.absolute()
    while not path.exists() and path != path.parent:
        path = path.parent
    return mount_of(path, sys)


def mounts_of_device(name: str, sys: Sys) -> tuple[Mount, ...]:
    """Everything mounted from the device."""
    return tuple(m for m in mounts(sys) if name in carriers(m, sys))


def _name_of_source(source: str, sys: Sys) -> str | None:
    if not source.startswith("/dev/"):
        return None
    if sys.live:
        try:
            found = os.stat(source)  # noqa: PTH116 - a device node, its number is all that is wanted
        except OSError:
            return None
        return block.name_of(f"{os.major(found.st_rdev)}:{os.minor(found.st_rdev)}", sys) if _is_block(found) else None
    if source.startswith("/dev/mapper/"):
        wanted = source.removeprefix("/dev/mapper/")
        return next((n for n in block.all_names(sys) if sys.text(f"{block.BASE}/{n}/dm/name") == wanted), None)
    name = source.removeprefix("/dev/").replace("/", "!")
    return name if name in block.all_names(sys) else None


def _is_block(found: os.stat_result) -> bool:
    return stat.S_ISBLK(found.st_mode)


def chain_of_device(name: str, sys: Sys) -> tuple[Device, ...]:
    """The device itself and every one below it, upper before lower."""
    found: dict[str, Device] = {}
    _follow(name, sys, found)
    return tuple(found.values())
