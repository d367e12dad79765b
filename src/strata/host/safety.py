"""What Strata may touch. Every write of Strata to a file or device passes through here first.

Each check looks at a descriptor, not at a name: what was checked is what is then used. The ``open_*`` functions
return that descriptor, so that nothing can be slipped in between; the ``check_*`` functions are for planning.

Raises `SafetyRefusal` (exit 5) when going on could write to something that is not Strata's, with all reasons in
``problems``, and `RunFailed` (exit 1) when it simply cannot be done. Nothing has been written to it in either case.
"""

from __future__ import annotations

import errno
import os
import shlex
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from strata import units
from strata.errors import RunFailed, SafetyRefusal
from strata.host import registry, signatures
from strata.host.inuse import file_users
from strata.host.mark import MARK_BYTES, read_mark_fd
from strata.host.proc import Sys
from strata.host.untrusted import kind_of

_RESERVE_SHARE, _RESERVE_MAX = 0.02, units.GIB


def check_new_file(path: Path | str, size: int = 0) -> None:
    """May a test file of ``size`` bytes be made at ``path``, or is Strata's own file already there?

    `RunFailed`: the parent is missing, not a directory, read-only, or has not the space. `SafetyRefusal`: something
    is there that is not Strata's.
    """
    path = Path(path)
    with open_parent(path) as (parent, name):
        try:
            there = os.stat(name, dir_fd=parent, follow_symlinks=False)
        except FileNotFoundError:
            there = None
        if there is not None:
            os.close(_open_own(path, parent, name, os.O_RDONLY))
        _check_space(path, parent, size - (there.st_blocks * 512 if there else 0))


def check_own_file(path: Path | str) -> None:
    """Is this a test file of Strata's own, with its mark, that nobody else uses? Raises when not."""
    os.close(open_own_file(path, os.O_RDONLY))


def open_own_file(path: Path | str, flags: int = os.O_RDWR, *, parent: int | None = None) -> int:
    """Opens Strata's own test file (no link is followed) and returns the descriptor that was checked.

    ``parent`` is its directory where the caller has it open already.

    ``flags`` may add O_DIRECT, O_DSYNC …; it never creates or truncates. The caller closes the descriptor.
    """
    if flags & (os.O_CREAT | os.O_TRUNC):
        raise ValueError("an own file is opened, never made or emptied, here")
    path = Path(path)
    if parent is not None:
        return _open_own(path, parent, path.name, flags)
    with open_parent(path) as (directory, name):
        return _open_own(path, directory, name, flags)


@contextmanager
def open_parent(path: Path) -> Iterator[tuple[int, str]]:
    """The parent directory's descriptor and the name within it; raises `RunFailed` when it cannot be written."""
    if path.name in ("", ".."):
        raise RunFailed(
            "cannot use the test file", str(path), "it is not a file name", "give a path that ends in a file name"
        )
    try:
        fd = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as e:
        raise _no_parent(path, e) from e
    try:
        if os.fstatvfs(fd).f_flag & os.ST_RDONLY:
            raise RunFailed(
                "cannot use the directory",
                str(path.parent),
                "its file system is mounted read-only",
                "give a writable directory; existing files can still be read: strata measure file:/…",
            )
        # By way of the descriptor: the name could mean another directory by now.
        if not os.access(f"/proc/self/fd/{fd}", os.W_OK | os.X_OK):
            hint = "give a directory of your own on the same device, or run as its owner"
            raise RunFailed("cannot use the directory", str(path.parent), "you have no permission to write to it", hint)
        yield fd, path.name
    finally:
        os.close(fd)


def _no_parent(path: Path, error: OSError) -> RunFailed:
    parent = path.parent
    if parent.is_symlink():
        hint = f"give the real path: {Path(os.path.realpath(parent)) / path.name}"
        return RunFailed("cannot use the directory", str(parent), "it is a symbolic link", hint)
    if error.errno == errno.ENOENT:
        return RunFailed("cannot use the directory", str(parent), "it does not exist (any more)", f"mkdir -p {parent}")
    return RunFailed("cannot use the directory", str(parent), (error.strerror or str(error)).lower())


def _check_space(path: Path, parent: int, needed: int) -> None:
    fs = os.fstatvfs(parent)
    # Some (an unlimited tmpfs, some FUSE) state no size at all: only trying can tell.
    if needed <= 0 or fs.f_blocks == 0:
        return
    free = fs.f_bavail * fs.f_frsize
    # A file system filled to the last block is somebody else's outage.
    reserve = min(int(fs.f_blocks * fs.f_frsize * _RESERVE_SHARE), _RESERVE_MAX)
    if needed + MARK_BYTES > free - reserve:
        raise RunFailed(
            "not enough space for the test file",
            str(path),
            f"{units.size(needed)} needed, {units.size(free)} free, of which {units.size(reserve)} are reserved",
            "use a smaller --size, or a directory with more free space on the same device",
        )


def _refuse(path: Path, problems: list[str], *, command: bool = False) -> SafetyRefusal:
    """``command``: one of the problems names a command that ends it."""
    hint = "give a path that does not exist: Strata creates a file there and removes it at the end"
    why = problems[0] if len(problems) == 1 else f"{len(problems)} reasons"
    if len(problems) == 1 and command:
        hint = "give a path that does not exist, or run that command to allow overwriting all of it"
    return SafetyRefusal("refused to write to", str(path), why, hint, tuple(problems) if len(problems) > 1 else ())


def _open_own(path: Path, parent: int, name: str, flags: int) -> int:
    try:
        # O_PATH opens nothing: no fifo blocks, no device is woken, no link is followed.
        handle = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    except FileNotFoundError as e:
        raise RunFailed("cannot open the test file", str(path), "it does not exist (any more)") from e
    except OSError as e:
        raise RunFailed("cannot open the test file", str(path), (e.strerror or str(e)).lower()) from e
    try:
        _check_kind(path, os.fstat(handle))
        fd = _reopen(path, handle, flags & ~os.O_NOFOLLOW)
    finally:
        os.close(handle)
    try:
        check_own_fd(path, fd)
    except BaseException:
        os.close(fd)
        raise
    return fd


def _reopen(path: Path, handle: int, flags: int) -> int:
    try:
        return os.open(f"/proc/self/fd/{handle}", flags | os.O_CLOEXEC)
    except OSError as e:
        if e.errno in (errno.EACCES, errno.EPERM, errno.EROFS, errno.ETXTBSY):
            raise _refuse(path, [f"it cannot be opened ({(e.strerror or str(e)).lower()})"]) from e
        raise RunFailed("cannot open the test file", str(path), (e.strerror or str(e)).lower()) from e


def _check_kind(path: Path, found: os.stat_result) -> None:
    """What a name alone already tells, before anything is opened."""
    if not stat.S_ISREG(found.st_mode):
        raise _refuse(path, [f"it is {kind_of(found.st_mode)}"])


def check_own_fd(path: Path, fd: int) -> None:
    """As `check_own_file`, of what is open at ``fd``; ``path`` is what errors call it."""
    found = os.fstat(fd)
    problems = []
    if found.st_nlink == 0:
        raise RunFailed("cannot use the test file", str(path), "it was removed in the meantime")
    if found.st_nlink > 1:
        problems.append(f"it has {found.st_nlink} hard links: another name refers to the same data")
    if found.st_uid != os.geteuid():
        problems.append(f"it belongs to user {found.st_uid}, not to you ({os.geteuid()})")
    if not found.st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH):
        problems.append("it is marked read-only")
    problems += file_users(found, Sys())
    of_mark, command = _mark_problems(path, fd, found)
    problems += of_mark
    if problems:
        raise _refuse(path, problems, command=command)


def _mark_problems(path: Path, fd: int, found: os.stat_result) -> tuple[list[str], bool]:
    """And whether one of them names a command that ends it."""
    # The descriptor may be write-only or O_DIRECT: the mark is read through one of our own.
    reader = os.open(f"/proc/self/fd/{fd}", os.O_RDONLY | os.O_CLOEXEC)
    try:
        mark = read_mark_fd(reader)
        if mark is None:
            return ["it exists and does not carry Strata's mark"], False
        problems = []
        if mark.size != found.st_size:
            problems.append(f"its mark is for {mark.size} bytes, but it has {found.st_size}: it was changed")
        if signed := signatures.find_fd(reader, found.st_size):
            problems.append(f"after the mark it holds {', '.join(signed)}: something else uses the file")
        if later := found.st_mtime_ns != mark.date_ns and registry.entry_of(mark.uuid) is None:
            then = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(found.st_mtime))
            again = f"touch -d @{mark.date_ns // units.NS_PER_S} {shlex.quote(str(path))}"
            problems.append(f"it was written to after Strata wrote it ({then}); if its data is not needed: {again}")
        return problems, later
    except OSError as e:
        return [f"its mark cannot be read ({(e.strerror or str(e)).lower()})"], False
    finally:
        os.close(reader)
