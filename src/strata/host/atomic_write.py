"""Writing a file whole or not at all, into the directory that was opened and nowhere else.

The new content is written beside the old under a name that nobody can guess (O_EXCL, no link followed), brought to
the disk, and renamed within the opened directory. What somebody planted beside it is neither followed nor touched.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Mapping
from contextlib import AbstractContextManager, suppress
from pathlib import Path

from strata.host.proc import descriptor

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
OLD = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def directory(path: Path) -> AbstractContextManager[int]:
    """A descriptor of the directory at that path, which may be a link to it. Raises `OSError`."""
    return descriptor(path, os.O_RDONLY | os.O_DIRECTORY)


def read_in(folder: int, name: str) -> bytes | None:
    """The content of the regular file of that name; None where there is nothing. Raises `OSError` (ELOOP: a link)."""
    try:
        fd = os.open(name, OLD, dir_fd=folder)
    except FileNotFoundError:
        return None
    with os.fdopen(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError(f"{name} is not a regular file")
        return file.read()


def attribute_in(folder: int, name: str, key: str) -> bytes | None:
    """An extended attribute of the regular file of that name; None where it has none, or its file system keeps none."""
    with suppress(OSError):
        fd = os.open(name, OLD, dir_fd=folder)
        try:
            return os.getxattr(fd, key)
        finally:
            os.close(fd)
    return None


def replace_in(
    folder: int, name: str, content: bytes, mode: int = 0o600, attributes: Mapping[str, bytes] | None = None
) -> None:
    """Puts ``content`` in the place of the file of that name; it is on the disk when this returns. Raises `OSError`.

    ``mode`` is that of a new file, less the umask; an old one's stays. ``attributes`` are extended ones, which not
    every file system keeps.
    """
    fresh = f".{name[:100]}.{secrets.token_hex(8)}.new"
    before = None
    with suppress(FileNotFoundError):
        before = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    fd = os.open(fresh, _NEW, mode, dir_fd=folder)
    try:
        with os.fdopen(fd, "wb") as file:
            if before is not None and stat.S_ISREG(before):
                os.fchmod(fd, before & 0o777)
            file.write(content)
            for key, value in (attributes or {}).items():
                with suppress(OSError):
                    os.setxattr(fd, key, value)
            file.flush()
            os.fsync(file.fileno())
        os.rename(fresh, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(fresh, dir_fd=folder)
        raise
    # The name, too, is to outlive the machine. Some file systems cannot be asked for that.
    with suppress(OSError):
        os.fsync(folder)
