"""Tracing instances of the kernel that Strata made: each is written down before it is made, and removed by its name.

One small file each in ``state_dir()/tracing/``. An instance belongs to the process that made it; when that process is
gone it is left over, and `clean` removes it.
"""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from strata.host.atomic_write import directory, read_in, replace_in
from strata.host.mounts import mounts
from strata.host.proc import Sys
from strata.host.registry import process_of
from strata.host.xdg import state_dir, state_dir_if_there

PREFIX = "strata-"


@dataclass(frozen=True)
class Instance:
    """One instance: its name below ``instances/`` and the process that made it."""

    name: str
    pid: int
    process: str

    @property
    def abandoned(self) -> bool:
        """True when its process is gone (a new one with its number does not count)."""
        return process_of(self.pid) != self.process


def tracefs(sys: Sys | None = None) -> str | None:
    """Where tracefs is mounted in this process's namespace; None where it is not."""
    points = [m.point for m in mounts(sys) if m.kind == "tracefs"]
    usual = "/sys/kernel/tracing"
    return usual if usual in points else next(iter(points), None)


def note(name: str) -> None:
    """Write down that this process is about to make the instance; it is on disk when this returns."""
    folder = state_dir() / "tracing"
    folder.mkdir(mode=0o700, exist_ok=True)
    made = Instance(name, os.getpid(), process_of(os.getpid()))
    with directory(folder) as held:
        replace_in(held, f"{name}.json", json.dumps(asdict(made)).encode())


def forget(name: str) -> None:
    base = state_dir_if_there()
    if base is not None:
        with contextlib.suppress(OSError):
            (base / "tracing" / f"{name}.json").unlink()


def noted() -> tuple[Instance, ...]:
    """All that are written down; a file that is no note is passed over."""
    found = []
    base = state_dir_if_there()
    if base is None or not (base / "tracing").is_dir():
        return ()
    with directory(base / "tracing") as folder:
        for path in sorted((base / "tracing").glob(f"{PREFIX}*.json")):
            with contextlib.suppress(OSError, ValueError, TypeError):
                one = Instance(**json.loads(read_in(folder, path.name) or b""))
                if one.name == path.stem:
                    found.append(one)
    return tuple(found)


def remove(root: str, name: str) -> bool:
    """Switch it off and remove it. False: it is still there (somebody has it open, or may not be removed)."""
    if not name.startswith(PREFIX) or "/" in name:
        return False
    path = Path(root) / "instances" / name
    # Never made where it is not: then this is no instance.
    with contextlib.suppress(OSError), (path / "tracing_on").open("r+") as switch:
        switch.write("0")
    try:
        path.rmdir()
    except FileNotFoundError:
        pass
    except OSError:
        return False
    return True


def clean() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(removed, still there): instances whose processes are gone. Without tracefs none can be removed."""
    removed, left = [], []
    root = tracefs()
    for one in noted():
        if not one.abandoned:
            continue
        if root is not None and remove(root, one.name):
            forget(one.name)
            removed.append(f"{root}/instances/{one.name}")
        else:
            left.append(one.name)
    return tuple(removed), tuple(left)
