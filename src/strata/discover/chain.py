"""The devices under a mount or an endpoint, from the one that carries it down to the medium."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from strata.discover.devices import device
from strata.host import block
from strata.host.mounts import Mount, existing, mount_of
from strata.host.proc import Sys
from strata.model.endpoint import Endpoint, EndpointKind
from strata.model.survey import Device


@dataclass(frozen=True)
class Under:
    """Names of the block devices under something, each once, upper before lower.

    ``carriers``: those of them that it lies on itself: one, or several (btrfs). Together they carry each byte once, or
    once for every copy.
    """

    devices: tuple[str, ...] = ()
    carriers: tuple[str, ...] = ()


NOTHING = Under()


def devices_of(endpoint: Endpoint, sys: Sys | None = None) -> Under:
    """What is under a file or a device of this machine; nothing for what is reached over connections, or is not there.

    Reads names alone, so that it can be asked before every measurement (about a millisecond).
    """
    sys = sys or Sys()
    carrying: tuple[str, ...] = ()
    if endpoint.kind is EndpointKind.BLOCK and endpoint.path is not None:
        name = _name_of_source(endpoint.path, sys)
        carrying = () if name is None else (name,)
    elif endpoint.kind is EndpointKind.FILE and endpoint.path is not None:
        mount = mount_under(Path(endpoint.path), sys)
        carrying = () if mount is None else carriers(overlay_upper(mount, sys) or mount, sys)
    return Under(devices=tuple(_below(carrying, sys)), carriers=carrying)


def carriers(mount: Mount, sys: Sys) -> tuple[str, ...]:
    """The names of the devices that hold the file system: none (tmpfs, NFS …), one, or several (btrfs)."""
    if name := block.name_of(mount.devno, sys):
        return (name,)
    source = _name_of_source(mount.source, sys)
    if source is None:
        return ()
    # btrfs mounts name one member only; sysfs lists the whole pool.
    pool = next((members for members in block.btrfs(sys).values() if source in members), ())
    return (source, *(m for m in pool if m != source))


def chain(mount: Mount, sys: Sys) -> tuple[Device, ...]:
    """Every device the I/O passes, each once, upper before lower."""
    return _described(carriers(mount, sys), sys)


def chain_of_device(name: str, sys: Sys) -> tuple[Device, ...]:
    """The device itself and every one below it, upper before lower."""
    return _described((name,), sys)


def _described(names: Iterable[str], sys: Sys) -> tuple[Device, ...]:
    found = []
    for name, under in _below(names, sys).items():
        this = device(name, sys)
        if under.facts is not None:
            this = this.model_copy(update={"members": under.names, "detail": {**this.detail, **under.facts}})
        found.append(this)
    return tuple(found)


@dataclass(frozen=True)
class _Lower:
    """What one device stands on. ``facts`` tell of what is behind a loop device; None: it is none."""

    names: tuple[str, ...]
    facts: dict[str, str] | None = None


def _below(names: Iterable[str], sys: Sys) -> dict[str, _Lower]:
    """Every device from these downward with what it stands on, each once, upper before lower."""
    found: dict[str, _Lower] = {}

    def follow(name: str) -> None:
        if name in found:
            return
        disk = block.parent(name, sys)
        backing = block.loop_backing(name, sys)
        lower = (disk,) if disk else block.slaves(name, sys)
        found[name] = _under_loop(backing, sys) if backing else _Lower(lower)
        for each in found[name].names:
            follow(each)

    for name in names:
        follow(name)
    return found


def _under_loop(backing: str, sys: Sys) -> _Lower:
    """A loop device stands on a device, or on a file whose own file system has devices in turn."""
    if name := _name_of_source(backing, sys):
        return _Lower((name,), {})
    path = backing.removesuffix(" (deleted)")
    if sys.live and not _visible(path):
        return _Lower((), {"backing_file_system": "unknown: the file is not visible from here"})
    lower = mount_of(path, sys)
    if lower is None:
        return _Lower((), {})
    return _Lower(carriers(lower, sys), {"backing_file_system": lower.kind, "backing_mount": lower.point})


def _visible(path: str) -> bool:
    """Whether it is there, and this user may look at it: another's directory may lie above it."""
    return os.access(path, os.F_OK)


def overlay_upper(mount: Mount, sys: Sys) -> Mount | None:
    """The mount that takes the writes of an overlay; None when it is not one or its directory is not visible."""
    upper = mount.pairs.get("upperdir")
    if mount.kind != "overlay" or upper is None or (sys.live and not _visible(upper)):
        return None
    lower = mount_of(upper, sys)
    return None if lower is None or lower.kind == "overlay" else lower


def mount_under(path: Path, sys: Sys) -> Mount | None:
    """As `mount_of`, and for a path that does not exist yet the mount of its nearest parent that does."""
    return mount_of(existing(path.absolute()) if sys.live else path, sys)


def _name_of_source(source: str, sys: Sys) -> str | None:
    if not source.startswith("/dev/"):
        return None
    if sys.live:
        try:
            found = os.stat(source)  # noqa: PTH116 - a device node, its number is all that is wanted
        except OSError:
            return None
        return block.name_of(block.devno(found.st_rdev), sys) if stat.S_ISBLK(found.st_mode) else None
    if source.startswith("/dev/mapper/"):
        wanted = source.removeprefix("/dev/mapper/")
        return next((n for n in block.all_names(sys) if sys.text(f"{block.BASE}/{n}/dm/name") == wanted), None)
    name = source.removeprefix("/dev/").replace("/", "!")
    return name if name in block.all_names(sys) else None
