"""How each kind of thing a lab makes is removed again. Each may be called twice, and when the thing was never made.

A handler removes only what its line proves to be the lab's: a namespace by its inode, a process by its start time, a
loop device by the backing file in the lab's directory, a mount by its place there.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

from strata.errors import RunFailed
from strata.host import process
from strata.host.mounts import mounts
from strata_lab import namespaces, proc
from strata_lab.ledger import Line

_LOOP_CLR_FD = 0x4C01
_MNT_DETACH, _UMOUNT_NOFOLLOW = 2, 8
_TIMEOUT_S = 10.0


def ended(line: Line) -> None:
    """A process and its session."""
    proc.stop(int(line["pid"]), int(line["started"]))


def netns(line: Line) -> None:
    """A network namespace: first everything that runs in it ends, then its name goes.

    With ``inode`` (written once it was made) only that very namespace; without, `up` was killed while making it, and
    the name, which was free when the line was written and carries the lab's name, is the lab's.
    """
    name, wanted = str(line["name"]), line.get("inode")
    there = namespaces.mounted_names().get(name, set())
    if wanted is not None and there and wanted not in there:
        return
    # Without a name an inode proves nothing: the kernel gives its number to another one.
    for inode in there if wanted is None else there & {wanted}:
        if inode == Path("/proc/self/ns/net").stat().st_ino:
            raise RunFailed("cannot remove the namespace", name, "this command runs inside it", "leave its shell first")
        proc.end(proc.inside(inode))
    namespaces.remove(name, wanted)
    left = namespaces.mounted_names().get(name, set())
    if left if wanted is None else wanted in left:
        raise RunFailed("cannot remove the namespace", name, "its name is still mounted")


def mount(line: Line) -> None:
    """Whatever is mounted at a directory of the lab. A file system that will not let go is detached."""
    path = str(line["path"])
    for _ in range(8):
        if not mounted(path):
            return
        # As a process: it can be left where the file system does not answer.
        with contextlib.suppress(OSError):
            process.run(["umount", path], _TIMEOUT_S)
        if mounted(path):
            _umount(Path(path), _MNT_DETACH | _UMOUNT_NOFOLLOW)
    if mounted(path):
        raise RunFailed("cannot unmount", path, "it is still mounted")


def mounted(path: str) -> bool:
    """Whether something is mounted exactly there."""
    return any(m.point == path for m in mounts())


def loop(line: Line) -> None:
    """The loop devices whose backing file is this file of the lab."""
    for device in loops_on(str(line["backing"])):
        fd = os.open(device, os.O_RDONLY | os.O_CLOEXEC)
        try:
            with contextlib.suppress(OSError):  # ENXIO: it let go on its own
                fcntl.ioctl(fd, _LOOP_CLR_FD)
        finally:
            os.close(fd)
    if left := loops_on(str(line["backing"])):
        raise RunFailed("cannot detach", ", ".join(left), "something still has it open")


def loops_on(backing: str) -> list[str]:
    """``/dev/loopN`` of every loop device backed by that file, also when the file is gone."""
    found = []
    for entry in Path("/sys/block").glob("loop*/loop/backing_file"):
        with contextlib.suppress(OSError):
            if entry.read_text().rstrip("\n").removesuffix(" (deleted)") == backing:
                found.append(f"/dev/{entry.parts[3]}")
    return found


def directory(line: Line) -> None:
    """A directory of the lab and what is in it; refuses when something is still mounted below.

    With ``inode`` (written once it was made) only that very directory; without, `up` was killed while making it, and it
    is the lab's if this user owns it: the name was free.
    """
    path = Path(str(line["path"]))
    with contextlib.suppress(FileNotFoundError):
        found = path.lstat()
        ours = found.st_uid == os.geteuid() and line.get("inode") in (None, found.st_ino)
        if not stat.S_ISDIR(found.st_mode) or not ours:
            return
        below = [m.point for m in mounts() if m.point.startswith(f"{path}/")]
        if below:
            raise RunFailed("cannot remove", str(path), f"still mounted: {', '.join(below)}")
        shutil.rmtree(path)


def cgroup(line: Line) -> None:
    """A control group: its processes end, then it goes."""
    path = Path(str(line["path"]))
    for _ in range(3):
        with contextlib.suppress(OSError):
            pids = [int(p) for p in (path / "cgroup.procs").read_text().split()]
            proc.end((p, s) for p in pids if (s := proc.start_time(p)) is not None)
        with contextlib.suppress(FileNotFoundError):
            try:
                path.rmdir()
            except OSError:
                continue
        return
    raise RunFailed("cannot remove the control group", str(path), "it is busy")


def setting(line: Line) -> None:
    """A value of the kernel's that the lab changed: the old one is put back, unless somebody changed it since."""
    path = Path(str(line["path"]))
    with contextlib.suppress(FileNotFoundError):
        if path.read_text().strip() == line["now"]:
            path.write_text(str(line["before"]))


HANDLERS: dict[str, Callable[[Line], None]] = {
    "process": ended,
    "netns": netns,
    "mount": mount,
    "loop": loop,
    "directory": directory,
    "cgroup": cgroup,
    "setting": setting,
}
# What is gone after a restart of the machine, whoever has these numbers and names now.
OF_THIS_BOOT = frozenset({"process", "netns", "mount", "loop", "cgroup", "setting"})


def _umount(path: Path, flags: int) -> None:
    # EINVAL: nothing is mounted there, which is what is wanted.
    ctypes.CDLL(None, use_errno=True).umount2(os.fsencode(path), flags)
