"""Strata's test file: made new, marked in its first 4096 bytes, registered, and removed only when it is still ours."""

from __future__ import annotations

import os
from pathlib import Path

from strata import units
from strata.errors import RunFailed, SafetyRefusal
from strata.host import registry, safety
from strata.host.mark import MARK, MARK_BYTES, Mark, header_bytes, read_mark, read_mark_fd

__all__ = [
    "DATA_OFFSET",
    "MARK",
    "MARK_BYTES",
    "Mark",
    "adopt",
    "clean",
    "create",
    "header_bytes",
    "keep",
    "read_mark",
    "remove",
    "was_kept",
]

DATA_OFFSET = units.MIB
"""Where a workload should begin: behind the mark, and aligned to every usual stripe, page and erase block."""


def create(path: Path | str, size: int) -> Mark:
    """Makes a file of ``size`` bytes (mark included), its blocks reserved but not written, and registers it.

    `SafetyRefusal` when anything is at ``path`` already, also one of Strata's own; `RunFailed` when there is no space.
    A file that could not be finished is removed again.
    """
    if size < MARK_BYTES:
        raise RunFailed("cannot make the test file", str(path), f"{size} bytes is less than its mark ({MARK_BYTES})")
    path = Path(path).absolute()
    safety.check_new_file(path, size)
    mark = Mark.new(size)
    with safety.open_parent(path) as (parent, name):
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            fd = os.open(name, flags, 0o600, dir_fd=parent)
        except FileExistsError as e:
            why, hint = "something is there already", "remove it, or give another path"
            raise SafetyRefusal("refused to make the test file", str(path), why, hint) from e
        except OSError as e:
            raise RunFailed("cannot make the test file", str(path), (e.strerror or str(e)).lower()) from e
        try:
            # Size first, then the mark that states it: at no instant do the two disagree.
            os.ftruncate(fd, size)
            os.pwrite(fd, header_bytes(mark), 0)
            os.fsync(fd)
            registry.add(registry.Entry.of(path, mark, os.fstat(fd)))
            os.posix_fallocate(fd, 0, size)
            os.fsync(fd)
            os.fsync(parent)
        except BaseException as e:
            _unlink_if_same(parent, name, os.fstat(fd))
            registry.forget(mark)
            if isinstance(e, OSError):
                why = (e.strerror or str(e)).lower()
                raise RunFailed("cannot make the test file", str(path), f"{units.size(size)}: {why}") from e
            raise
        finally:
            os.close(fd)
    return mark


def remove(path: Path | str, mark: Mark) -> None:
    """Removes the file when it still is the one ``mark`` was made for; a file already gone is fine.

    `SafetyRefusal` for anything else: another mark, a link, a second hard link, a file that somebody uses.
    """
    path = Path(path).absolute()
    if not os.path.lexists(path):
        registry.forget(mark)
        return
    with safety.open_parent(path) as (parent, name):
        fd = safety.open_own_file(path, os.O_RDONLY)
        try:
            there = read_mark_fd(fd)
            if there != mark:
                why = f"it carries the mark {there.uuid if there else None}, not {mark.uuid}"
                raise SafetyRefusal("refused to remove", str(path), why)
            if not _unlink_if_same(parent, name, os.fstat(fd)):
                raise SafetyRefusal("refused to remove", str(path), "another file took its place meanwhile")
        finally:
            os.close(fd)
    registry.forget(mark)


def keep(mark: Mark) -> None:
    """The user wants to keep the file: `clean` will leave it alone from now on."""
    registry.forget(mark)


def adopt(path: Path | str, mark: Mark) -> None:
    """This process goes on with the file that an earlier one made: `clean` leaves it alone while we live."""
    path = Path(path).absolute()
    registry.forget(mark)
    registry.add(registry.Entry.of(path, mark, path.lstat()))


def was_kept(path: Path | str) -> bool:
    """True for a test file that `keep` took off the list: it is the user's now."""
    mark = read_mark(path)
    return mark is not None and all(e.uuid != mark.uuid for e in registry.entries())


def clean() -> tuple[Path, ...]:
    """Removes what earlier processes left behind, and returns the paths removed.

    Files on servers are left to who can reach them. Only a file whose device, inode and uuid are those registered
    goes; files of a living process stay; whatever else is found at a registered path is left as it is and struck off
    the list.
    """
    removed = []
    for entry in registry.abandoned():
        if entry.is_remote:
            continue
        path = Path(entry.path)
        try:
            found = path.lstat()
            if (found.st_dev, found.st_ino) == (entry.device, entry.inode):
                mark = read_mark(path)
                if mark is not None and mark.uuid == entry.uuid:
                    remove(path, mark)
                    removed.append(path)
                    continue
        except FileNotFoundError:
            pass
        except (OSError, RunFailed):
            # Not reachable now (not mounted, read-only): it may be next time.
            continue
        except SafetyRefusal:
            pass
        registry.forget_uuid(entry.uuid)
    return tuple(removed)


def _unlink_if_same(parent: int, name: str, ours: os.stat_result) -> bool:
    """POSIX has no unlink by descriptor: the name is looked at again in the instant before it goes."""
    try:
        there = os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return True
    if (there.st_dev, there.st_ino) != (ours.st_dev, ours.st_ino):
        return False
    os.unlink(name, dir_fd=parent)
    return True
