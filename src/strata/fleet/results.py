"""Results on the node's own disk: there before they are sent, and until somebody says that they are in a store.

A result that nobody fetched, because whoever asked was killed or the scheduler was gone, is given out when the same
measurement is asked for again, by its name. The newest `KEPT_MOST` are kept.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from strata import parsing
from strata.errors import StrataError
from strata.fleet.call import RESULT_MOST
from strata.host import atomic_write
from strata.host.untrusted import read_text

KEPT_MOST = 1000
NAME = re.compile(r"[0-9A-Za-z][0-9A-Za-z.-]{0,199}")


def keep(folder: Path, name: str, told: Mapping[str, Any]) -> str | None:
    """On the disk when this returns None; else why it is not: the disk is full, say. Nothing is left of it then."""
    here, file = _folder(folder), _file(name)
    try:
        here.mkdir(mode=0o700, exist_ok=True)
        with atomic_write.directory(here) as fd:
            atomic_write.replace_in(fd, file, json.dumps(told).encode())
        known = sorted(here.iterdir(), key=lambda p: p.stat().st_mtime_ns)
        for old in known[:-KEPT_MOST]:
            old.unlink(missing_ok=True)
    except OSError as e:
        return e.strerror or str(e)
    return None


def kept(folder: Path, name: str) -> dict[str, Any] | None:
    """The result of that name; None where there is none, or what is there cannot be read."""
    path = _folder(folder) / _file(name)
    if not path.is_file():
        return None
    try:
        found = parsing.json_of(read_text(path, "cannot read the result", RESULT_MOST, "remove it"))
    except (ValueError, StrataError, OSError):
        return None
    return found if isinstance(found, dict) else None


def forget(folder: Path, names: Sequence[str]) -> None:
    """They are in a store."""
    for name in names:
        with suppress(OSError):
            (_folder(folder) / _file(name)).unlink()


def _folder(folder: Path) -> Path:
    return folder / "results"


def _file(name: str) -> str:
    """Raises `ValueError` for a name that could lead elsewhere."""
    if NAME.fullmatch(name) is None:
        raise ValueError(f"{name!r} cannot be the name of a result")
    return f"{name}.json"
