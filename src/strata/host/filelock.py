"""Who has a test file in hand: one that writes to it, or several that read. Advisory; Strata's own processes ask.

The lock belongs to the open file (an OFD lock), so a server that was handed the descriptor has the same one, and the
kernel lets go of it with the last of them. One byte far behind all data is locked: where a file system makes locks
mandatory, no I/O meets it.
"""

from __future__ import annotations

import errno
import fcntl
import os
import struct
from pathlib import Path

from strata.errors import RunFailed
from strata.host.proc import read_text

_LOCKED_BYTE = 1 << 62
_FLOCK = "@hhqqi0q"
_TAKEN = (errno.EAGAIN, errno.EACCES)


def take(fd: int, path: Path, *, write: bool) -> None:
    """Locks the file for as long as ``fd`` is open, here or in a child that it was handed to.

    Raises `RunFailed` naming the process that has it. A file system that has no locks is no obstacle: nobody can tell
    there.
    """
    kind = fcntl.F_WRLCK if write else fcntl.F_RDLCK
    try:
        fcntl.fcntl(fd, fcntl.F_OFD_SETLK, struct.pack(_FLOCK, kind, os.SEEK_SET, _LOCKED_BYTE, 1, 0))
    except OSError as e:
        if e.errno not in _TAKEN:
            return
        why = f"{_holder(os.fstat(fd))} is using it for another run"
        raise RunFailed("cannot use the test file", str(path), why, "wait for it to end, or give another file") from e


def _holder(found: os.stat_result) -> str:
    """The kernel names no process for such a lock: it is one that has the file open with a lock on it."""
    for process in sorted((p for p in Path("/proc").iterdir() if p.name.isdecimal()), key=lambda p: int(p.name)):
        try:
            for fd in (process / "fd").iterdir():
                # What has no such lock is not looked at: a dead server's file would be waited for.
                if "OFDLCK" not in (read_text(process / "fdinfo" / fd.name) or ""):
                    continue
                there = fd.stat()
                if (there.st_dev, there.st_ino) == (found.st_dev, found.st_ino):
                    return f"process {process.name}"
        except OSError:
            # Another user's, or it has ended.
            continue
    return "another process"
