"""Strata's test file: made new, marked in its first 4096 bytes, registered, and removed only when it is still ours.

`new`, `own` and `look` give a `HeldFile`: from the check to the end of its use it is reached through one descriptor.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from strata import units
from strata.errors import RunFailed, SafetyRefusal
from strata.host import registry, safety
from strata.host.atomic_write import directory
from strata.host.heldfile import HeldFile
from strata.host.mark import MARK_BYTES, Mark, header_bytes, read_mark, read_mark_fd


def new(path: Path | str, size: int) -> HeldFile:
    """Makes a file of ``size`` bytes (mark included), its blocks reserved but not written, and registers it.

    It is open, locked and this process's own until it is closed. `SafetyRefusal` when anything is at ``path`` already,
    also one of Strata's own; `RunFailed` when there is no space. A file that could not be finished is removed again.
    """
    if size < MARK_BYTES:
        raise RunFailed("cannot create the test file", str(path), f"{size} bytes is less than its mark ({MARK_BYTES})")
    path = Path(path).absolute()
    safety.check_new_file(path, size)
    mark = Mark.new(size)
    with safety.open_parent(path) as (parent, name):
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            fd = os.open(name, flags, 0o600, dir_fd=parent)
        except FileExistsError as e:
            why, hint = "a file of this name exists", "remove it, or give another path"
            raise SafetyRefusal("will not create the test file", str(path), why, hint) from e
        except OSError as e:
            raise RunFailed("cannot create the test file", str(path), (e.strerror or str(e)).lower()) from e
        held = HeldFile(path, fd, mark, os.dup(parent))
        try:
            held.lock(write=True)
            # Size first, then the mark that states it: at no instant do the two disagree.
            os.ftruncate(fd, size)
            os.pwrite(fd, header_bytes(mark), 0)
            os.fsync(fd)
            held.adopt()
            os.posix_fallocate(fd, 0, size)
            os.fsync(fd)
            os.fsync(parent)
        except BaseException as e:
            held.discard()
            if isinstance(e, OSError):
                why = (e.strerror or str(e)).lower()
                raise RunFailed("cannot create the test file", str(path), f"{units.size(size)}: {why}") from e
            raise
    return held


def own(path: Path | str, *, lock: bool = True) -> HeldFile:
    """Takes a test file that is there in hand, to write to it: checked, locked and on the list until it is closed.

    Without ``lock`` for a server, whose clients and who loads the file beside it are told apart by nobody.

    `SafetyRefusal` for whatever is not Strata's own or was written to by others, `RunFailed` when it is in use.
    """
    path = Path(path).absolute()
    with safety.open_parent(path) as (parent, _):
        fd = safety.open_own_file(path, os.O_RDWR, parent=parent)
        mark = read_mark_fd(fd)
        held = HeldFile(path, fd, mark, os.dup(parent))
        try:
            if lock:
                held.lock(write=True)
            if mark is None:
                raise SafetyRefusal("refused to write to", str(path), "its mark was overwritten in the meantime")
            known = registry.entry_of(mark.uuid)
            held.entered(kept=known is None or known.kept)
        except BaseException:
            held.let_go()
            raise
    return held


def look(path: Path | str, *, lock: bool = True) -> HeldFile:
    """Opens a regular file, whoever's it is, to read it; one of Strata's own is locked against who would write.
    Without ``lock`` for a client of a run that has the file in hand already.

    Links are followed. `SafetyRefusal` for what is no regular file, `RunFailed` when it cannot be read.
    """
    path = Path(path).absolute()
    try:
        # A fifo would be waited for.
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as e:
        raise RunFailed("cannot open", str(path), (e.strerror or str(e)).lower()) from e
    held = HeldFile(path, fd, None)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise SafetyRefusal(
                "cannot use", str(path), "it is not a regular file", "give a regular file or a block device"
            )
        held.mark = read_mark_fd(fd)
        if held.mark is not None and lock:
            held.lock(write=False)
    except BaseException:
        held.close()
        raise
    return held


def create(path: Path | str, size: int) -> Mark:
    """As `new`, and lets go of it: it stays, and stays on the list."""
    with new(path, size) as held:
        return held.own


def remove(path: Path | str, mark: Mark) -> None:
    """Removes the file when it still is the one ``mark`` was made for; a file already gone is fine.

    `SafetyRefusal` for anything else: another mark, a link, a second hard link, a file that somebody uses.
    """
    path = Path(path).absolute()
    if not os.path.lexists(path):
        registry.forget(mark.uuid)
        return
    with safety.open_parent(path) as (parent, _):
        held = HeldFile(path, safety.open_own_file(path, os.O_RDWR, parent=parent), mark, os.dup(parent))
        try:
            held.lock(write=True)
            held.remove()
        finally:
            held.let_go()


def was_kept(path: Path | str) -> bool:
    """True for a test file that is the user's: `strata clean` leaves it."""
    mark = read_mark(path)
    if mark is None:
        return False
    known = registry.entry_of(mark.uuid)
    return known is None or known.kept


def clean() -> tuple[Path, ...]:
    """Removes what earlier processes left behind, and returns the paths removed.

    Files on servers are left to who can reach them. Only a file whose volume, inode and uuid are those registered
    goes; files of a living process and files that the user keeps stay. Where the volume is not mounted now, the file
    stays on the list; whatever else is found at a registered path is left as it is and struck off.
    """
    removed = []
    for entry in registry.abandoned():
        if entry.remote:
            # Reached by an engine, which is not known here.
            continue
        path = Path(entry.path)
        try:
            found = _found(entry, path)
            if found is not None and entry.kept:
                continue
            if found is not None:
                remove(path, found)
                removed.append(path)
                continue
        except (OSError, RunFailed):
            # Not reachable now (not mounted, read-only, in use): it may be next time.
            continue
        except SafetyRefusal:
            pass
        registry.forget(entry.uuid)
    return tuple(removed)


def _found(entry: registry.Entry, path: Path) -> Mark | None:
    """The mark of the file of this entry, when it is there. Raises `OSError` while its volume is not mounted there."""
    above = next(p for p in path.parents if p.is_dir())
    with directory(above) as folder:
        if entry.volume and registry.volume_of(folder) != entry.volume:
            raise OSError(errno.ENODEV, "another volume is mounted there")
    try:
        same = path.lstat().st_ino == entry.inode
    except FileNotFoundError:
        return None
    mark = read_mark(path) if same else None
    return mark if mark is not None and mark.uuid == entry.uuid else None
