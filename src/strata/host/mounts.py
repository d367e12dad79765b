"""Which mount a path lies on, from /proc/self/mountinfo."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from strata.host.proc import Sys, descriptor

NFS_KINDS, SMB_KINDS = ("nfs", "nfs4"), ("cifs", "smb3")
"""Types of the kernel's own clients, as mountinfo says them."""
_OCTAL = re.compile(rb"\\([0-7]{3})")


@dataclass(frozen=True)
class Mount:
    """One line of mountinfo. ``devno`` is ``major:minor`` (anonymous, ``0:n``, for btrfs, NFS, tmpfs …)."""

    id: int
    devno: str
    root: str
    point: str
    kind: str
    source: str
    options: tuple[str, ...]

    @property
    def pairs(self) -> dict[str, str]:
        """The options that have a value."""
        return dict(o.split("=", 1) for o in self.options if "=" in o)


def unescape(text: str) -> str:
    r"""The kernel writes blanks in paths as ``\040``; this reads them back."""
    raw = _OCTAL.sub(lambda m: bytes([int(m.group(1), 8) & 0xFF]), text.encode())
    return raw.decode("utf-8", "surrogateescape")


def parse(line: str) -> Mount | None:
    """One mountinfo line; None when it is not one."""
    left, found, right = line.partition(" - ")
    # Blanks in names are escaped, other white space is not.
    head, tail = left.split(" "), right.split(" ")
    if not found or len(head) < 6 or len(tail) < 2 or not head[0].isdigit():
        return None
    own = head[5].split(",")
    # The super block's options follow the mount's own; what both say (rw, ro) is said once.
    options = own + [o for o in (tail[2].split(",") if len(tail) > 2 else []) if o not in own]
    return Mount(
        id=int(head[0]),
        devno=head[2],
        root=unescape(head[3]),
        point=unescape(head[4]),
        kind=tail[0],
        source=unescape(tail[1]),
        options=tuple(options),
    )


def mounts(sys: Sys | None = None) -> tuple[Mount, ...]:
    """Every mount of this process's namespace, in the order they were made."""
    lines = (sys or Sys()).lines("/proc/self/mountinfo")
    return tuple(m for m in map(parse, lines) if m is not None)


def mount_of(path: str | Path, sys: Sys | None = None) -> Mount | None:
    """The mount that holds ``path`` (which must exist on a live machine); None when it cannot be told.

    On a live machine the kernel is asked for the mount's id, which is exact also for overmounts, bind mounts
    and btrfs subvolumes; a recorded tree is matched by the longest mount point.
    """
    sys = sys or Sys()
    table = mounts(sys)
    if sys.live:
        wanted = _mount_id(Path(path))
        exact = [m for m in table if m.id == wanted]
        if exact:
            return exact[0]
    pure = PurePosixPath(Path(path).resolve() if sys.live else path)
    holding = [m for m in table if pure.is_relative_to(m.point)]
    # The longest point wins; of equal ones the last, which lies on top of the others.
    return max(enumerate(holding), key=lambda im: (len(im[1].point), im[0]))[1] if holding else None


def existing(path: Path) -> Path:
    """The path, or the nearest directory above it that is there: the file may be made later."""
    while not path.exists() and path != path.parent:
        path = path.parent
    return path


def _mount_id(path: Path) -> int | None:
    try:
        with descriptor(path, os.O_PATH) as fd:
            lines = Sys().lines(f"/proc/self/fdinfo/{fd}")
    except OSError:
        return None
    return next((int(line.split()[1]) for line in lines if line.startswith("mnt_id:")), None)
