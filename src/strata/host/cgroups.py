"""Where a process's control groups are, of both versions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from strata.host.mounts import Mount, mounts
from strata.host.proc import Sys


def groups(sys: Sys, pid: int | str = "self") -> Iterator[tuple[str, str]]:
    """(directory, name of the group) of every group of ``pid``, each with all its parents up to the mount (``/``)."""
    table = mounts(sys)
    for line in sys.lines(f"/proc/{pid}/cgroup"):
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        mount = _mount_for(table, number, set(controllers.split(",")))
        if mount is None:
            continue
        # A container sees its own group as the mount's root while the path still has the host's prefix.
        inside = PurePosixPath(path)
        if inside.is_relative_to(mount.root):
            inside = "/" / inside.relative_to(mount.root)
        for part in (inside, *inside.parents):
            yield f"{mount.point}/{str(part).lstrip('/')}".rstrip("/"), str(part)


def _mount_for(table: tuple[Mount, ...], number: str, controllers: set[str]) -> Mount | None:
    if number == "0":
        return next((m for m in table if m.kind == "cgroup2"), None)
    return next((m for m in table if m.kind == "cgroup" and controllers <= set(m.options)), None)
