"""Which block devices may be read, and the few that may be written."""

from __future__ import annotations

import array
import errno
import fcntl
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from strata.errors import RunFailed, SafetyRefusal
from strata.host import block, process, programs, signatures
from strata.host.inuse import device_users, lineage
from strata.host.openers import openers
from strata.host.proc import Sys
from strata.text.output import note

LOOKS, LOOK_S = 4, 0.25
"""How often, and after how long, a device is looked at again that somebody only reads."""
_BLKROGET = 0x125E
_BLKID_FOUND, _BLKID_NOTHING, _BLKID_AMBIGUOUS = 0, 2, 8


def check_raw_read(device: Path | str) -> None:
    """May the device be read as it stands? It must be a block device that this user may read."""
    os.close(open_raw_read(device))


def open_raw_read(device: Path | str, flags: int = 0) -> int:
    """A read-only descriptor of a block device; ``flags`` may add O_DIRECT. The caller closes it.

    `SafetyRefusal` for anything that is not a block device, `RunFailed` when it is missing or not permitted.
    """
    if flags & (os.O_ACCMODE | os.O_CREAT | os.O_TRUNC):
        raise ValueError("raw devices are opened read-only here")
    with _handle(device) as handle:
        if not stat.S_ISBLK(os.fstat(handle).st_mode):
            raise SafetyRefusal("refused to read raw from", str(device), "it is not a block device")
        return _open(device, handle, os.O_RDONLY | flags)


def check_raw_write(device: Path | str, typed_name: str) -> None:
    """Is the device free of everything, and was its name typed again? Opens it for reading only.

    Every reason is collected before it refuses; they stand in ``problems``.
    """
    with _handle(device) as handle:
        problems = _problems(device, handle, typed_name)
        if not stat.S_ISBLK(os.fstat(handle).st_mode):
            raise _refuse(device, problems)
        try:
            with _exclusive(device, handle, problems) as fd:
                problems += _content_problems(fd)
        except RunFailed as e:
            if not problems:
                raise
            problems.append(f"it cannot be proven empty: it cannot be opened ({e.why})")
        if problems:
            raise _refuse(device, problems)


def open_raw_write(device: Path | str, typed_name: str) -> int:
    """A writable descriptor that holds the device exclusively, checked again through that very descriptor.

    While it stays open nobody can mount the device, add it to an array or use it as swap; an engine opens its own
    descriptor beside it by ``/proc/self/fd/<this>``. The caller closes it last.
    """
    check_raw_write(device, typed_name)
    with _handle(device) as handle:
        fd = _open(device, handle, os.O_RDWR | os.O_EXCL)
        try:
            problems = _problems(device, handle, typed_name) + _content_problems(fd)
            if problems:
                raise _refuse(device, problems)
        except BaseException:
            os.close(fd)
            raise
        return fd


@contextmanager
def _handle(device: Path | str) -> Iterator[int]:
    """The node itself, not opened: links such as /dev/disk/by-id are followed once, here."""
    try:
        handle = os.open(device, os.O_PATH | os.O_CLOEXEC)
    except OSError as e:
        raise RunFailed("cannot open the device", str(device), (e.strerror or str(e)).lower()) from e
    try:
        yield handle
    finally:
        os.close(handle)


def _open(device: Path | str, handle: int, flags: int) -> int:
    try:
        return os.open(f"/proc/self/fd/{handle}", flags | os.O_CLOEXEC)
    except OSError as e:
        if e.errno == errno.EBUSY:
            raise _refuse(device, ["it is held open by the kernel or another process"]) from e
        hints = {
            errno.EACCES: "run as root, or join the group of the device (often: disk)",
            errno.EPERM: "the device cgroup of a container forbids it: run outside of it, or allow the device",
        }
        raise RunFailed(
            "cannot open the device", str(device), (e.strerror or str(e)).lower(), hints.get(e.errno or 0, "")
        ) from e


@contextmanager
def _exclusive(device: Path | str, handle: int, problems: list[str]) -> Iterator[int]:
    """A read-only descriptor, exclusive when it can be had; that it cannot is added to ``problems``."""
    try:
        fd = _open(device, handle, os.O_RDONLY | os.O_EXCL)
    except SafetyRefusal as e:
        problems.append(e.why)
        fd = _open(device, handle, os.O_RDONLY)
    try:
        yield fd
    finally:
        os.close(fd)


def _refuse(device: Path | str, problems: list[str]) -> SafetyRefusal:
    why = problems[0] if len(problems) == 1 else f"{len(problems)} reasons"
    hint = "writing to a raw device needs an empty, unused device; measure reads, or a file on it, instead"
    return SafetyRefusal("refused to write to the device", str(device), why, hint, tuple(problems))


def _problems(device: Path | str, handle: int, typed_name: str) -> list[str]:
    """What can be told without opening the device."""
    problems = []
    if typed_name != str(device):
        problems.append(f"--destructive names {typed_name!r}, not {str(device)!r}")
    found = os.fstat(handle)
    if not stat.S_ISBLK(found.st_mode):
        return [*problems, "it is not a block device"]
    sys = Sys()
    name = block.name_of(block.devno(found.st_rdev), sys)
    if name is None:
        return [*problems, "it is not in sysfs, so its users are unknown"]
    problems += device_users(name, sys)
    problems += _held_open(name, sys)
    if sys.int(f"{block.BASE}/{name}/ro") != 0:
        problems.append("it is read-only")
    if sys.missed:
        problems.append(f"its users are unknown: {', '.join(sorted(sys.missed))} cannot be read")
    return problems


def _held_open(name: str, sys: Sys) -> list[str]:
    """Processes that have it open, or what it is a part of, or what is a part of it."""
    family = lineage(name, sys)
    found = openers(family)
    for _ in range(LOOKS):
        # Whoever watches devices reads a new one for a moment.
        if found.writing or not found.reasons:
            break
        time.sleep(LOOK_S)
        found = openers(family)
    if not found.unseen:
        return list(found.reasons)
    if os.geteuid():
        told = f"who has it open is unknown: {found.unseen} processes of other users cannot be examined; run as root"
        return [*found.reasons, told]
    # Those of whoever keeps root in a container: who refused for them would never write.
    _say_unseen(found.unseen)
    return list(found.reasons)


@cache
def _say_unseen(number: int) -> None:
    """Once, however often the device is looked at."""
    note(f"note: {number} processes cannot be examined; whether one of them has the device open is unknown")


def _content_problems(fd: int) -> list[str]:
    """What stands on it: our own table of signatures, then the one of util-linux where it is installed."""
    problems = []
    size = os.lseek(fd, 0, os.SEEK_END)
    flag = array.array("i", [0])
    fcntl.ioctl(fd, _BLKROGET, flag)
    if flag[0]:
        problems.append("it is read-only")
    if size == 0:
        return [*problems, "it has no size"]
    try:
        problems += [f"it has a signature: {s}" for s in signatures.find_fd(fd, size)]
    except OSError as e:
        problems.append(f"it cannot be proven empty ({(e.strerror or str(e)).lower()})")
    return problems + _blkid(fd)


def _blkid(fd: int) -> list[str]:
    program = programs.find("blkid")
    if program is None:
        return []
    argv = [program, "-p", "-o", "export", f"/dev/fd/{fd}"]
    try:
        done = process.run(argv, 30.0, pass_fds=(fd,))
    except OSError as e:
        return [f"blkid could not examine it ({e})"]
    if done.code == _BLKID_NOTHING:
        return []
    if done.code == _BLKID_AMBIGUOUS:
        return ["blkid finds more than one signature on it"]
    if done.code != _BLKID_FOUND:
        return [f"blkid could not examine it (exit {done.code}: {done.err.strip()})"]
    pairs = dict(line.split("=", 1) for line in done.out.splitlines() if "=" in line)
    # Facts of a partition itself (its entry in the table) are no signature on it.
    kinds = [pairs[k] for k in ("TYPE", "PTTYPE") if k in pairs]
    return [f"blkid finds {' and '.join(kinds)} on it"] if kinds else []
