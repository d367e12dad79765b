"""Which lines of a ledger are obeyed: those that speak of this lab's own things, in the form that its makers write.

The ledger lies where nobody else can write (`strata_lab.where.own_ledgers`). This is the second look: a line that was
damaged, or copied from another lab's, removes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from strata_lab.ledger import Line

_CGROUPS = Path("/sys/fs/cgroup")
_SETTING = re.compile(r"/sys/block/loop[0-9]+/queue/[a-z_]+")
# What each kind has to have, and of which type.
_FIELDS: dict[str, dict[str, type]] = {
    "process": {"pid": int, "started": int},
    "netns": {"name": str},
    "mount": {"path": str},
    "loop": {"backing": str},
    "directory": {"path": str},
    "cgroup": {"path": str},
    "setting": {"path": str, "before": str, "now": str},
}


def complaint(line: Line, lab: str, data: Path) -> str | None:
    """Why the line is not obeyed by ``down`` of this lab, whose directory is ``data``; None: it is."""
    fields = _FIELDS.get(str(line["undo"]))
    if fields is None:
        return "that kind is not known"
    if wrong := [name for name, kind in fields.items() if not isinstance(line.get(name), kind)]:
        return f"it lacks {', '.join(wrong)}"
    if not isinstance(line.get("inode", 0), int):
        return "its inode is not a number"
    place = _PLACES.get(line["undo"])
    return None if place is None else place(line, lab, data)


def _netns(line: Line, lab: str, _: Path) -> str | None:
    name = line["name"]
    return None if name.startswith(f"strata-{lab}-") and "/" not in name else "its name is not of this lab"


def _below(line: Line, _: str, data: Path) -> str | None:
    path = Path(line.get("path") or line["backing"])
    inside = ".." not in path.parts and path.is_relative_to(data)
    return None if inside else f"it is not in the lab's directory {data}"


def _cgroup(line: Line, lab: str, _: Path) -> str | None:
    path = Path(line["path"])
    ours = ".." not in path.parts and path.is_relative_to(_CGROUPS) and path.name.startswith(f"strata-{lab}-")
    return None if ours else "it is not a control group of this lab"


def _setting(line: Line, _: str, __: Path) -> str | None:
    return None if _SETTING.fullmatch(line["path"]) else "it is not a setting that a lab changes"


_PLACES: dict[str, Callable[[Line, str, Path], str | None]] = {
    "netns": _netns,
    "mount": _below,
    "loop": _below,
    "directory": _below,
    "cgroup": _cgroup,
    "setting": _setting,
}
