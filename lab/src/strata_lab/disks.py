"""Disks of a lab: images and modelled media in its directory, loop devices on them, file systems mounted there."""

from __future__ import annotations

import errno
import fcntl
import os
import struct
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from strata.errors import RunFailed, UsageError
from strata.host import process, programs
from strata.host.mounts import mounts
from strata_lab.lab import Lab
from strata_lab.parts.disk import DiskControl

FILE_SYSTEMS = ("ext4", "xfs", "btrfs")
_MKFS = {
    # Blocks of 4 KiB however small the device is: below 512 MiB it would choose 1 KiB.
    "ext4": ("mkfs.ext4", "-q", "-F", "-b", "4096", "-E", "lazy_itable_init=0,lazy_journal_init=0"),
    "xfs": ("mkfs.xfs", "-q", "-f"),
    "btrfs": ("mkfs.btrfs", "-q", "-f"),
}
_TIMEOUT_S = 60.0
_FREE_S, _POLL_S = 20.0, 0.02
_NOT_THERE = "Transport endpoint is not connected"
"""btrfs asks for the file behind every mounted loop device, that of a lab being taken down too."""
_PAST = 'while [ "$1" != -- ]; do umount -l "$1"; shift; done; shift; exec "$@"'
_LOOP_SET_STATUS64, _LOOP_GET_STATUS64 = 0x4C04, 0x4C05
# struct loop_info64 of linux/loop.h: so long, and three numbers of 8 bytes before its lo_offset.
_LOOP_INFO_BYTES, _LO_OFFSET_AT = 232, 24


def image(lab: Lab, name: str, size_bytes: int) -> Path:
    """A sparse file of that size in the lab's directory."""
    path = lab.dir("disks") / f"{name}.img"
    with path.open("xb") as f:
        os.truncate(f.fileno(), size_bytes)
    return path


def modelled(lab: Lab, name: str, size_bytes: int, model: str) -> DiskControl:
    """A disk that behaves as ``model`` says (``"c=4 svc=800"``), its content in memory; its `disk` and `ctl` files."""
    home = lab.dir("disks") / name
    home.mkdir()
    # It takes its mount along when it ends; killed, it leaves it behind.
    lab.undo("mount", path=str(home))
    words = programs.python("strata_lab.parts.disk", str(home), "--size", str(size_bytes), "--model", model)
    control = DiskControl(home)
    lab.run(None, words, name=f"disk-{name}", wait_for=control.ctl.exists)
    lab.fact("disk", name=name, path=str(home), model=model, size_bytes=size_bytes)
    return control


def control(lab: Lab, name: str) -> DiskControl:
    """The modelled disk of that name. Raises `RunFailed` when the lab has none."""
    found = lab.last_fact("disk", name=name)
    if found is None:
        raise RunFailed("there is no modelled disk", repr(name), f"in the lab {lab.name}")
    return DiskControl(found["path"])


def attach(lab: Lab, backing: Path, *, direct: bool = True) -> str:
    """A loop device on that file; ``/dev/loopN``. With ``direct`` the page cache below it is not used."""
    lab.undo("loop", backing=str(backing))
    words = ["losetup", "--find", "--show", f"--direct-io={'on' if direct else 'off'}", str(backing)]
    device = tool(words, "attach a loop device to").strip()
    # The kernel keeps it from the device's last user.
    set_queue(lab, device, "max_sectors_kb", _queue(device, "max_hw_sectors_kb").read_text().strip())
    return device


def begin_at(device: str, offset_bytes: int) -> None:
    """The loop device begins so far into its file, as a partition does on its disk; what it held is elsewhere then.

    Raises `RunFailed` when the device can then no longer pass the page cache by.
    """
    info = bytearray(_LOOP_INFO_BYTES)
    fd = os.open(device, os.O_RDWR | os.O_CLOEXEC)
    try:
        fcntl.ioctl(fd, _LOOP_GET_STATUS64, info)
        struct.pack_into("=Q", info, _LO_OFFSET_AT, offset_bytes)
        fcntl.ioctl(fd, _LOOP_SET_STATUS64, bytes(info))
    except OSError as e:
        raise RunFailed("cannot shift the start of", device, os.strerror(e.errno or 0)) from e
    finally:
        os.close(fd)
    if (Path("/sys/block") / Path(device).name / "loop" / "dio").read_text().strip() != "1":
        raise RunFailed("cannot shift the start of", device, f"at {offset_bytes} bytes it does not support direct I/O")


def set_queue(lab: Lab, device: str, name: str, value: str) -> None:
    """A queue setting of a device of the lab (``max_sectors_kb``); `down` puts the old one back."""
    path = _queue(device, name)
    before = path.read_text().strip()
    if before != value:
        lab.undo("setting", path=str(path), before=before, now=value)
        path.write_text(value)


def _queue(device: str, name: str) -> Path:
    return Path("/sys/block") / Path(device).name / "queue" / name


def make_fs(device: str, fs: str, journal: str | None = None) -> None:
    """An empty file system on a device of the lab, its journal on another one where one is given (ext4 only).

    Raises `UsageError` for a kind the lab does not know.
    """
    if fs not in _MKFS:
        raise UsageError("cannot create the file system", repr(fs), "", f"choose one of: {', '.join(FILE_SYSTEMS)}")
    words = [*_MKFS[fs]]
    if journal is not None:
        if fs != "ext4":
            raise UsageError("cannot put the journal on a separate device for", fs, "", "use fs=ext4")
        tool(["mkfs.ext4", "-q", "-F", "-O", "journal_dev", "-b", "4096", journal], "make a journal on")
        words += ["-J", f"device={journal}"]
    _on_device([*words, device], f"make {fs} on")


def past_the_dead(words: Sequence[str]) -> list[str]:
    """The same command in a mount namespace of its own, without the mounts of loop devices whose file does not answer.

    Who crashed may have left them behind; they are not ours to take away.
    """
    dead = [m.point for m in mounts() if m.source.startswith("/dev/loop") and not _answers(m.devno)]
    apart = ["unshare", "--mount", "--propagation", "private", "sh", "-c", _PAST, "sh", *dead, "--"]
    return [*(apart if dead else []), *words]


def _answers(devno: str) -> bool:
    try:
        Path(Path(f"/sys/dev/block/{devno}/loop/backing_file").read_text().rstrip("\n")).stat()
    except OSError as e:
        return e.errno != errno.ENOTCONN
    return True


def make_btrfs(devices: Sequence[str], *, data: str, metadata: str) -> None:
    """One empty btrfs over devices of the lab, with these profiles of data and of metadata."""
    words = ["mkfs.btrfs", "-q", "-f", "-K", "-d", data, "-m", metadata, *devices]
    _on_device(words, "make btrfs on")


def add_to_btrfs(device: str, path: Path) -> None:
    """The device joins the btrfs that is mounted there; what it held is gone."""
    _on_device(["btrfs", "device", "add", "-f", "-K", device, str(path)], "add a device to")


def mount(lab: Lab, device: str, name: str, options: str = "") -> Path:
    """Mounts it at ``mnt/NAME`` in the lab's directory; that path."""
    path = lab.dir("mnt") / name
    path.mkdir(exist_ok=True)
    lab.undo("mount", path=str(path))
    tool(["mount", *(["-o", options] if options else []), device, str(path)], "mount")
    return path


def unmount(path: Path) -> None:
    """Raises `RunFailed` when somebody uses it; a process that has just ended may, until its ring is taken apart."""
    _patiently(lambda: tool(["umount", str(path)], "unmount"), "busy")


def free(device: str) -> None:
    """Waits until nobody has the device to himself; the kernel lets go of a file system after ``umount`` came back.

    Raises `RunFailed` when it stays so: a mount namespace of somebody else has a copy of the mount.
    """
    deadline = time.monotonic() + _FREE_S
    while True:
        try:
            os.close(os.open(device, os.O_RDONLY | os.O_EXCL | os.O_CLOEXEC))
        except OSError as e:
            if e.errno != errno.EBUSY or time.monotonic() > deadline:
                raise RunFailed(
                    "cannot reuse", device, e.strerror or str(e), "check where else it is mounted: findmnt"
                ) from e
            time.sleep(_POLL_S)
        else:
            return


def _on_device(words: Sequence[str], doing: str) -> None:
    """A program that looks first whether its device is in use, whatever became of other devices of this machine."""
    _patiently(lambda: tool(past_the_dead(words), doing), _NOT_THERE)


def _patiently(doing: Callable[[], object], passing: str) -> None:
    """Again and again while it ends with what usually passes soon."""
    deadline = time.monotonic() + _FREE_S
    while True:
        try:
            doing()
        except RunFailed as e:
            if passing not in e.render() or time.monotonic() > deadline:
                raise
            time.sleep(_POLL_S)
        else:
            return


def tool(words: Sequence[str], doing: str, env: Mapping[str, str] | None = None) -> str:
    """Runs one program of the system to its end; its output. Raises `RunFailed` with what it said, in English."""
    try:
        done = process.run(words, _TIMEOUT_S, {**(env or {}), "LC_ALL": "C"}, preexec_fn=process.dies_with_us())
    except FileNotFoundError as e:
        raise RunFailed(f"cannot {doing}", words[-1], f"{words[0]} is not installed") from e
    except TimeoutError as e:
        raise RunFailed(f"cannot {doing}", words[-1], f"{words[0]} took longer than {_TIMEOUT_S:g} s") from e
    if done.code:
        said = (done.err.strip() or done.out.strip() or f"{words[0]} exited with {done.code}").splitlines()
        raise RunFailed(f"cannot {doing}", words[-1], said[-1], problems=tuple(said[:-1][-5:]))
    return done.out
