"""One file, open from the check that allowed its use to the end of that use.

A name is looked up anew each time it is used, and in a directory that somebody else may write to it can lead to another
file each time. What is done to the file is therefore done through ``fd``: the engine, fio and the servers of our own
open beside it (``/proc/self/fd/N``) or are handed it. The name is for people, and for the list of files.
"""

from __future__ import annotations

import errno
import fcntl
import os
import struct
from pathlib import Path

from strata.errors import RunFailed, SafetyRefusal
from strata.host import registry, safety
from strata.host.mark import Mark, read_mark_fd
from strata.host.proc import read_text

_LOCKED_BYTE = 1 << 62
_FLOCK = "@hhqqi0q"
_TAKEN = (errno.EAGAIN, errno.EACCES)


class HeldFile:
    """``mark`` is None for a file that is not Strata's, which is only read. Closed when the block ends.

    ``path`` is the name it was found by; ``parent`` the directory it was found in, -1 for a file that is only read.
    """

    def __init__(self, path: Path, fd: int, mark: Mark | None, parent: int = -1) -> None:
        self.path, self.fd, self.mark, self._parent = path, fd, mark, parent
        self._stays = parent >= 0

    def __enter__(self) -> HeldFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def opened(self) -> str:
        """What to open in this process for this very file, wherever its name leads by now."""
        return f"/proc/self/fd/{self.fd}"

    @property
    def size(self) -> int:
        """Bytes of it, now."""
        return os.fstat(self.fd).st_size

    @property
    def own(self) -> Mark:
        """The mark of a file that is Strata's."""
        assert self.mark is not None, "a file of another program"
        return self.mark

    def lock(self, *, write: bool) -> None:
        """Locks the file for as long as it is open, here or in a child that it was handed to.

        One that writes, or several that read; advisory: Strata's own processes ask. The lock belongs to the open file
        (an OFD lock), so a server that was handed the descriptor has the same one, and the kernel lets go of it with
        the last of them. One byte far behind all data is locked: where a file system makes locks mandatory, no I/O
        meets it.

        Raises `RunFailed` naming the process that has it. A file system that has no locks is no obstacle: nobody can
        tell there.
        """
        kind = fcntl.F_WRLCK if write else fcntl.F_RDLCK
        try:
            fcntl.fcntl(self.fd, fcntl.F_OFD_SETLK, struct.pack(_FLOCK, kind, os.SEEK_SET, _LOCKED_BYTE, 1, 0))
        except OSError as e:
            if e.errno not in _TAKEN:
                return
            why = f"{_holder(os.fstat(self.fd))} is using it for another run"
            hint = "wait for it to end, or give another file"
            raise RunFailed("cannot use the test file", str(self.path), why, hint) from e

    def entered(self, *, kept: bool) -> None:
        """On the list of files from here on, as made or written to by this process."""
        registry.replace(registry.Entry.of(self.path, self.own, self.fd, kept=kept))

    def keep(self) -> None:
        """The user wants it: `strata clean` leaves it, and it goes off the list when it is closed and dated."""
        # What is only read and not on the list is the user's already; on it, a later write of others would not be seen.
        if self._parent >= 0 or registry.entry_of(self.own.uuid) is not None:
            self.entered(kept=True)

    def adopt(self) -> None:
        """It goes with this process: what an earlier one left behind, or made."""
        self.entered(kept=False)

    def check_still_ours(self) -> None:
        """Raises `SafetyRefusal` when the mark it began with does not stand in it any more."""
        there = read_mark_fd(self.fd)
        if there is None or there.uuid != self.own.uuid:
            why = "its mark was overwritten in the meantime; this run has written only to this file"
            raise SafetyRefusal("will not write to", str(self.path), why, "find out what else writes to it")

    def gone(self) -> str | None:
        """In words, when its name does not lead to it any more: what became of it. None: it is where it was."""
        try:
            if _same(self.path.lstat(), os.fstat(self.fd)):
                return None
        except OSError:
            pass
        if os.fstat(self.fd).st_nlink == 0:
            return f"{self.path} was removed in the meantime; the run used the file that was there at the start"
        return f"{self.path} is not the file that the run used: that file is now at {Path(self.opened).readlink()}"

    def remove(self) -> None:
        """Removes it by what it is and never by its name alone; where it was renamed to, too. Gone already is fine.

        `SafetyRefusal` when it is not what it was: another mark, a second hard link, somebody who uses it.
        """
        found = os.fstat(self.fd)
        if found.st_nlink:
            safety.check_own_fd(self.path, self.fd)
            there = read_mark_fd(self.fd)
            if there != self.mark:
                why = f"it carries the mark {there.uuid if there else None}, not {self.own.uuid}"
                raise SafetyRefusal("refused to remove", str(self.path), why)
            if not _unlink_if_same(self._parent, self.path.name, found):
                self._remove_elsewhere(found)
        self._stays = False
        registry.forget(self.own.uuid)

    def _remove_elsewhere(self, found: os.stat_result) -> None:
        now = Path(self.opened).readlink()
        try:
            parent = os.open(now.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError:
            parent = -1
        try:
            if parent < 0 or not _unlink_if_same(parent, now.name, found):
                why = "another file took its place, and its new location is unknown"
                raise SafetyRefusal("refused to remove", str(self.path), why)
        finally:
            if parent >= 0:
                os.close(parent)

    def settle(self) -> None:
        """Nobody of Strata writes to it now: gives it the date by which a later write of others is seen.

        What cannot be dated stays on the list, by which it is known as well.
        """
        if self.mark is None or not settle(self.fd, self.mark):
            return
        entry = registry.entry_of(self.mark.uuid)
        if entry is not None and entry.kept:
            registry.forget(self.mark.uuid)

    def discard(self) -> None:
        """What could not be made whole goes again, unchecked: it was never anything."""
        _unlink_if_same(self._parent, self.path.name, os.fstat(self.fd))
        registry.forget(self.own.uuid)
        self.let_go()

    def let_go(self) -> None:
        """Closes it as it is. May be called again."""
        for fd in (self.fd, self._parent):
            if fd >= 0:
                os.close(fd)
        self.fd, self._parent, self._stays = -1, -1, False

    def close(self) -> None:
        """Closes it, settled if this process wrote to it. May be called again."""
        try:
            if self._stays:
                self.settle()
        finally:
            self.let_go()


def settle(fd: int, mark: Mark) -> bool:
    """Dates the file as `Mark.date_ns` has it; whether the file system took it."""
    try:
        if read_mark_fd(fd) != mark:
            return False
        # Behind a network the file's server dates what is written out later.
        os.fsync(fd)
        os.utime(fd, ns=(os.fstat(fd).st_atime_ns, mark.date_ns))
        os.fsync(fd)
    except OSError:
        return False
    return os.fstat(fd).st_mtime_ns == mark.date_ns


def _same(one: os.stat_result, other: os.stat_result) -> bool:
    return (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)


def _unlink_if_same(parent: int, name: str, ours: os.stat_result) -> bool:
    """POSIX has no unlink by descriptor: the name is looked at again in the instant before it goes."""
    try:
        if not _same(os.stat(name, dir_fd=parent, follow_symlinks=False), ours):
            return False
        os.unlink(name, dir_fd=parent)
    except FileNotFoundError:
        # Also where it was renamed in that instant.
        return False
    return True


def _holder(found: os.stat_result) -> str:
    """The kernel names no process for such a lock: it is one that has the file open with a lock on it."""
    for process in sorted((p for p in Path("/proc").iterdir() if p.name.isdecimal()), key=lambda p: int(p.name)):
        try:
            for fd in (process / "fd").iterdir():
                # What has no such lock is not looked at: a dead server's file would be waited for.
                if "OFDLCK" not in (read_text(process / "fdinfo" / fd.name) or ""):
                    continue
                if _same(fd.stat(), found):
                    return f"process {process.name}"
        except OSError:
            # Another user's, or it has ended.
            continue
    return "another process"
