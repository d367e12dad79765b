"""The platform under one path, put together from the parts. Works without root, and says what it missed."""

from __future__ import annotations

import os
import platform
import socket
import time
from pathlib import Path

from strata.discover.chain import chain, mount_under, overlay_upper
from strata.discover.cpu import cpu
from strata.discover.filesystem import describe
from strata.discover.geometry import btrfs_geometry, geometry
from strata.discover.health import health
from strata.discover.interfaces import interfaces
from strata.discover.kernel_log import kernel_log, names_of
from strata.discover.limits import cpu_limit, limits, memory_limit
from strata.discover.load import measure
from strata.discover.memory import memory
from strata.discover.notices import notices
from strata.discover.paths import multipath
from strata.discover.placing import placing
from strata.discover.tiers import tiers
from strata.discover.tools import Tools
from strata.errors import RunFailed, StrataError
from strata.host.fragments import pieces
from strata.host.mounts import Mount, existing
from strata.host.proc import Sys
from strata.host.rawcheck import check_raw_read
from strata.model.hardware import FileLayout, KernelLog
from strata.model.survey import Device, Survey


def survey(path: Path, load_seconds: float = 0.5) -> Survey:
    """Everything known of the platform under ``path`` (it need not exist yet; its nearest parent then stands for it).

    Takes ``load_seconds`` and some milliseconds. Raises `RunFailed` when the mount of the path cannot be told.
    """
    sys = Sys()
    taken = time.time_ns()
    path = path.absolute()
    mount = mount_under(path, sys)
    if mount is None:
        hint = "check that /proc is mounted"
        raise RunFailed("cannot survey", str(path), "/proc/self/mountinfo has no mount for it", hint)
    main = memory(sys, memory_limit(found := limits(sys)))
    if main is None:
        raise RunFailed("cannot survey", str(path), "/proc/meminfo cannot be read", "check that /proc is mounted")
    tools = Tools.of(sys)
    devices = tuple(_looked_into(d, sys, tools) for d in chain(overlay_upper(mount, sys) or mount, sys))
    fs = describe(mount, _space(path), devices[0].name if devices else None, sys)
    if fs.kind == "btrfs":
        fs = fs.model_copy(update={"geometry": btrfs_geometry(fs.device, sys)})
    fs = fs.model_copy(update={"placing": placing(fs, devices, sys, tools)})
    log, no_log = _kernel_log(devices, sys)
    bare = Survey(
        path=str(path),
        hostname=socket.gethostname(),
        kernel=platform.release(),
        os=_os_name(sys),
        taken_unix_ns=taken,
        file_system=fs,
        devices=devices,
        cpu=cpu(sys, cpu_limit(found)),
        memory=main,
        load=measure(sys, load_seconds),
        privileged=os.geteuid() == 0,
        limits=found,
        tiers=tiers(fs, devices, main, sys, tools),
        interfaces=interfaces(sys),
        kernel_log=log,
        file=_file(path, tools),
    )
    missed = (f"{wanted}: {why}" for wanted, why in sorted(tools.missed.items()))
    unreadable = (*sorted(sys.missed), *no_log, *missed, *_unknown(bare, mount))
    return bare.model_copy(update={"notices": notices(bare), "unreadable": unreadable})


def _looked_into(device: Device, sys: Sys, tools: Tools) -> Device:
    """With its permission, its geometry, its paths and its health: what takes more than the names in sysfs."""
    more = {
        "geometry": geometry(device, sys, tools),
        "multipath": multipath(device, sys, tools),
        "health": health(device, sys, tools),
        "detail": {**device.detail, "raw_read": _raw_read(device)},
    }
    return device.model_copy(update=more)


def _file(path: Path, tools: Tools) -> FileLayout | None:
    """The pieces that the path lies in; None for a directory, and where the file system does not say."""
    try:
        found = pieces(path)
        size = path.stat().st_size
    except FileNotFoundError:
        return None
    except OSError as e:
        tools.missed[f"fragments of {path}"] = (e.strerror or str(e)).lower()
        return None
    if found is None:
        return None
    return FileLayout(path=str(path), size=size, fragments=found.count, smallest=found.smallest, whole=found.whole)


def _kernel_log(devices: tuple[Device, ...], sys: Sys) -> tuple[KernelLog | None, tuple[str, ...]]:
    """The log, or why there is none."""
    try:
        return kernel_log(names_of(devices, sys), sys), ()
    except OSError as e:
        return None, (f"the kernel's log: {(e.strerror or str(e)).lower()}",)


def _space(path: Path) -> os.statvfs_result:
    path = existing(path)
    try:
        return os.statvfs(path)
    except OSError as e:
        raise RunFailed("cannot survey", str(path), (e.strerror or str(e)).lower()) from e


def _raw_read(device: Device) -> str:
    """Whether this user may read it raw: ``yes`` or the reason."""
    try:
        check_raw_read(device.path)
    except StrataError as e:
        return e.why
    return "yes"


def _os_name(sys: Sys) -> str:
    pairs = dict(line.split("=", 1) for line in sys.lines("/etc/os-release") if "=" in line)
    return pairs.get("PRETTY_NAME", platform.system()).strip('"')


def _unknown(found: Survey, mount: Mount) -> list[str]:
    """What a reader would expect to see and does not."""
    gaps = []
    if not found.devices and not found.file_system.remote:
        gaps.append(f"block devices under {mount.kind} {mount.source}")
    if found.cpu.governor is None:
        gaps.append("CPU frequency governor (no cpufreq: normal in a virtual machine)")
    if found.cpu.idle_state is None:
        gaps.append("CPU idle states (needs root, and a kernel that manages them)")
    if found.cpu.turbo is None:
        gaps.append("CPU turbo state")
    for device in found.devices:
        if (answer := device.detail.get("raw_read")) != "yes":
            gaps.append(f"raw reads of {device.path}: {answer}")
        if device.write_cache is None:
            gaps.append(f"write cache of {device.path}")
    return gaps
