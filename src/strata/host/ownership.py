"""Directories that are ours alone: state, ledgers, what a lab keeps at run time.

What lies in them is acted on (files are removed because a list there names them), so nobody else may have put it
there, nor be able to. `folder` walks the path from the root, one component after the other by descriptor, and refuses
what another user could turn elsewhere. What it returned can then be used by its path: nobody else can change what it
leads to.
"""

from __future__ import annotations

import errno
import grp
import os
import pwd
import re
import shlex
import stat
from contextlib import suppress
from pathlib import Path

from strata.errors import RunFailed, SafetyRefusal
from strata.text.output import note

_LOOK = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_LINKS_MOST = 40
_WHAT = "will not use the directory"


def folder(path: Path, hint: str, holds: str, *, make: bool = True) -> Path:
    """The directory, made (0700) where it is missing; proven ours, 0700, and reached by nothing that is others'.

    One of ours that others may look into is closed to them, and that is said, if ``holds`` (a regular expression of
    the names we keep in it) fits all that is in it. Raises `SafetyRefusal` for everything else that is not ours
    alone, `RunFailed` where it cannot be made, `FileNotFoundError` where it is not there and ``make`` is false.
    """
    path = path.absolute()
    try:
        fd = _walk(path, hint, make)
        try:
            _only_ours(fd, path, hint, holds)
        finally:
            os.close(fd)
    except FileNotFoundError:
        if not make:
            raise
        raise RunFailed("cannot create the directory", str(path), "it was removed while it was created", hint) from None
    except OSError as e:
        raise RunFailed("cannot create the directory", str(path), e.strerror or str(e), hint) from e
    return path


def _walk(path: Path, hint: str, make: bool) -> int:
    """A descriptor of the directory at the end of the way; every station of it is looked at."""
    left, at, links = list(path.parts[1:]), Path("/"), 0
    fd = os.open("/", _LOOK)
    try:
        while left:
            _nobody_elses(os.fstat(fd), at, path, hint)
            name = left.pop(0)
            here = at / name
            try:
                after = os.open(name, _LOOK, dir_fd=fd)
            except FileNotFoundError:
                if not make:
                    raise
                with suppress(FileExistsError):  # another process of ours made it meanwhile
                    os.mkdir(name, 0o700, dir_fd=fd)
                after = os.open(name, _LOOK, dir_fd=fd)
            found = os.fstat(after)
            if not stat.S_ISLNK(found.st_mode):
                os.close(fd)
                fd, at = after, here
                if not stat.S_ISDIR(found.st_mode):
                    raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(here))
                continue
            target = os.readlink("", dir_fd=after)
            os.close(after)
            links += 1
            if not left:
                raise SafetyRefusal(_WHAT, str(path), "it is a symbolic link", hint)
            if found.st_uid not in _trusted() or links > _LINKS_MOST:
                raise SafetyRefusal(_WHAT, str(path), f"{here} is a symbolic link of {_name(found.st_uid)}", hint)
            left = [*Path(target).parts, *left]
            if target.startswith("/"):
                os.close(fd)
                left, at = left[1:], Path("/")
                fd = os.open("/", _LOOK)
    except BaseException:
        os.close(fd)
        raise
    return fd


def _nobody_elses(found: os.stat_result, at: Path, path: Path, hint: str) -> None:
    """Raises `SafetyRefusal` where others could put something else into the place of what lies in ``at``."""
    if found.st_uid not in _trusted():
        raise SafetyRefusal(_WHAT, str(path), f"{at} above it belongs to {_name(found.st_uid)}", hint)
    if _others_write(found) and not found.st_mode & stat.S_ISVTX:
        raise SafetyRefusal(_WHAT, str(path), f"other users may write to {at} above it", hint)


def _only_ours(at: int, path: Path, hint: str, holds: str) -> None:
    """The last one: ours, and open to nobody else."""
    found = os.fstat(at)
    if found.st_uid != os.geteuid():
        raise SafetyRefusal(_WHAT, str(path), f"it belongs to {_name(found.st_uid)}", hint)
    mode = stat.S_IMODE(found.st_mode)
    if not mode & 0o077:
        return
    close = shlex.join(["chmod", "700", str(path)])
    if _others_write(found):
        why = f"other users may write in it ({mode:04o}), so they may have changed its content"
        raise SafetyRefusal(_WHAT, str(path), why, f"check its content, then: {close}")
    # By the descriptor: what was looked at is what is closed.
    itself = Path(f"/proc/self/fd/{at}")
    if strange := sorted(p.name for p in itself.iterdir() if not re.fullmatch(holds, p.name)):
        why = f"other users may read it ({mode:04o}), and it holds {strange[0]}, which is not Strata's"
        raise SafetyRefusal(_WHAT, str(path), why, f"{hint}; or make it private: {close}")
    itself.chmod(0o700)
    if os.fstat(at).st_mode & 0o077:
        why = "its file system does not support mode 0700, so other users could read it"
        raise SafetyRefusal(_WHAT, str(path), why, hint)
    note(f"note: {path} was open to other users ({mode:04o}); its mode is now 0700")


def _trusted() -> frozenset[int]:
    """Who may own what lies on the way: root, we, and in a user namespace those of outside that it has no names for."""
    ours = {0, os.geteuid()}
    with suppress(OSError, ValueError, IndexError):
        # "0 0 4294967295": this is no user namespace of its own, and the number below is somebody's.
        if int(Path("/proc/self/uid_map").read_text().split()[2]) < 2**32 - 1:
            ours.add(int(Path("/proc/sys/kernel/overflowuid").read_text()))
    return frozenset(ours)


def _others_write(found: os.stat_result) -> bool:
    """Whether a user whom we do not trust may write there."""
    if found.st_mode & stat.S_IWOTH:
        return True
    return bool(found.st_mode & stat.S_IWGRP) and not _only_we_are_in(found.st_gid)


def _only_we_are_in(group: int) -> bool:
    """Whether it is a group that a distribution makes for one user alone: with his umask, all he makes is its."""
    try:
        found, me = grp.getgrgid(group), pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return False
    return (group == 0 or found.gr_name == me) and not set(found.gr_mem) - {me, "root"}


def of_others(path: Path) -> bool:
    """Whether what lies there belongs to, or may be written to by, a user whom we do not trust."""
    found = path.stat()
    return found.st_uid not in _trusted() or _others_write(found)


def _name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"
