"""Names of network namespaces: files in ``/run/netns`` on which the kernel has mounted a namespace.

The first ``ip netns add`` of anybody mounts ``/run/netns`` over itself. Namespaces that were named before then have two
mounts, and the lower one cannot be reached by its path any more: the name cannot be removed, and the namespace stays.
The kernel lists both. A name is therefore removed in a mount namespace of a thread's own: there what covers the
directory is taken off without anybody noticing, and with the file, once it is no mount point there, the kernel takes
off whatever is mounted on it anywhere.
"""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress
from pathlib import Path

from strata.host.mounts import mounts
from strata_lab.inside import on_a_thread

NETNS_DIR = Path("/run/netns")
_CLONE_NEWNS = 0x00020000
_MS_REC, _MS_PRIVATE = 16384, 1 << 18
_MNT_DETACH, _UMOUNT_NOFOLLOW = 2, 8
_LAYERS_MOST = 64


def mounted_names() -> dict[str, set[int]]:
    """The inodes of the namespaces that are mounted at each name, also where something covers them."""
    found: dict[str, set[int]] = {}
    for mount in mounts():
        path = Path(mount.point)
        if mount.kind == "nsfs" and path.parent == NETNS_DIR and mount.root.startswith("net:["):
            found.setdefault(path.name, set()).add(int(mount.root[5:-1]))
    return found


def remove(name: str, inode: int | None) -> None:
    """Removes the name of the namespace with that inode (None: of any). Another's of the same name stays.

    Raises `OSError`, `RunFailed`.
    """
    path = NETNS_DIR / name

    def peel() -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.unshare(_CLONE_NEWNS) or libc.mount(None, b"/", None, _MS_REC | _MS_PRIVATE, None):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(path))
        for _ in range(_LAYERS_MOST):
            if not _at_this_layer(path, inode):
                return
            # EINVAL: nothing covers it any more.
            if libc.umount2(os.fsencode(NETNS_DIR), _MNT_DETACH | _UMOUNT_NOFOLLOW):
                return

    on_a_thread(peel)


def _at_this_layer(path: Path, inode: int | None) -> bool:
    """Takes the name off what is seen of the directory now; whether to look below it."""
    libc = ctypes.CDLL(None, use_errno=True)
    for _ in range(_LAYERS_MOST):
        try:
            found, folder = path.lstat(), path.parent.stat()
        except FileNotFoundError:
            return True
        if found.st_dev == folder.st_dev:
            break
        if inode not in (None, found.st_ino):
            return False
        libc.umount2(os.fsencode(path), _MNT_DETACH | _UMOUNT_NOFOLLOW)
    # Empty, as whoever makes a name leaves it. EBUSY: a layer below has a mount on it.
    if found.st_size == 0:
        with suppress(OSError):
            path.unlink()
    return True
