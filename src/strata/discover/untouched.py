"""Where a path leads, told without a question to another machine."""

from __future__ import annotations

from pathlib import Path

from strata.discover.filesystem import is_remote
from strata.host.mounts import mounts
from strata.host.proc import Sys

LINKS_MOST = 40
"""That are followed, as by the kernel."""
_ANYTHING = ("fuse", "autofs")
"""Kinds of file systems behind which anything may be."""


def resolved_here(path: Path, sys: Sys | None = None) -> Path:
    """As `Path.resolve`, but what lies on another machine is taken as it is written: who asks a server that is gone
    waits for as long as it is.
    """
    away = [m.point for m in mounts(sys) if is_remote(m.kind) or m.kind.startswith(_ANYTHING)]
    todo, found, links = list(reversed(path.absolute().parts[1:])), Path("/"), 0
    while todo:
        part = todo.pop()
        if part == "..":
            found = found.parent
            continue
        found /= part
        if any(found.is_relative_to(point) for point in away):
            break
        try:
            led = found.readlink()
        except OSError:
            continue
        links += 1
        if links > LINKS_MOST:
            break
        found = Path("/") if led.is_absolute() else found.parent
        todo += reversed(led.parts[1:] if led.is_absolute() else led.parts)
    return Path(found, *reversed(todo))
