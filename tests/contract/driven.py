"""A stack whose layers are driven from their nodes, what a run of it is asked for, and what the nodes' processes do."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from commands import strata
from fleet_peers import Running, cluster
from users_file import users_file

from strata.app.options import Options
from strata.plan.words import workload_from_words

STACK = """
[stack]
name = "driven"
scheduler = "{address}"

[[node]]
name = "n1"
owner = true

[[node]]
name = "n2"

[[layer]]
name = "file"
node = "n1"
endpoint = "file:{path}"

[[layer]]
name = "share"
node = "n2"
on = ["file"]
endpoint = "{share}"

[[layer]]
name = "own share"
node = "n1"
on = ["file"]
endpoint = "nbd://127.0.0.1:0/own"
"""
DISK_AND_FILE = """
[[layer]]
name = "disk"
node = "n1"
endpoint = "block:{device}"

[[layer]]
name = "file"
node = "n1"
on = ["disk"]
endpoint = "file:{path}"
"""
"""Of n1: a device, and a file on its file system."""


def two_nodes(folder: Path) -> AbstractContextManager[Running]:
    """The nodes of the stack and their scheduler."""
    return cluster(folder, ["n1", "n2"])


@contextmanager
def left_idle(nodes: Running) -> Iterator[Running]:
    """For a test that is to leave them as they were, which is looked at."""
    yield nodes
    assert all(process.poll() is None for process in nodes.processes)
    until(lambda: not any(loads(node.pid) for node in nodes.nodes.values()), 20, "the nodes were idle again")


def users_volume(folder: Path) -> Path:
    """The user's own test file, on n1's machine."""
    path = folder / "volume" / "strata.dat"
    path.parent.mkdir()
    return users_file(path)


def stack(folder: Path, nodes: Running, data: Path, share: str) -> Path:
    path = folder / "stack.toml"
    path.write_text(STACK.format(address=nodes.address, path=data, share=share))
    return path


def options(folder: Path, *rw: str, **more: Any) -> Options:
    only = tuple(workload_from_words(one, iodepth=2, direct=False) for one in rw or ("randread",))
    chosen: dict[str, Any] = {"rounds": 2, "runtime_s": 0.2, "ramp_s": 0.05, "confirm": False, "load_seconds": 0.0}
    return Options(only=only, store=f"sqlite:///{folder / 'store.db'}", **{**chosen, **more})


def swept(where: Path, *words: object) -> dict[str, Any]:
    asked = ("--budget", "3s", "--no-open-loop", "--buffered", "--json", "--progress", "none")
    done = strata("scale", where, *words, *asked)
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def quiet(_: object) -> None:
    return None


def until(true: Any, within_s: float, what: str) -> None:
    until = time.monotonic() + within_s
    while not true():
        assert time.monotonic() < until, f"not within {within_s:g} s: {what}"
        time.sleep(0.05)


def spent(pid: int, *, children: bool = False) -> float:
    """CPU seconds, also of its children that have ended where that is asked."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11 : 15 if children else 13])) / os.sysconf("SC_CLK_TCK")


def loads(pid: int) -> bool:
    """Whether it has a load thread."""
    tasks = Path(f"/proc/{pid}/task")
    try:
        return any(_name(task) == "strata-0" for task in tasks.iterdir())
    except FileNotFoundError:
        return False


def _name(task: Path) -> str:
    try:
        return (task / "comm").read_text().strip()
    except OSError:  # it has ended meanwhile
        return ""


def fios(pid: int) -> list[str]:
    """Processes of fio that it has started."""
    children = [
        child for task in Path(f"/proc/{pid}/task").iterdir() for child in (task / "children").read_text().split()
    ]
    return [child for child in children if Path(f"/proc/{child}/comm").read_text().strip() == "fio"]


def descriptors(nodes: Running, path: Path) -> list[str]:
    """Descriptors of the file that node processes still have."""
    found = []
    for process in (p for p in nodes.nodes.values() if p.poll() is None):
        for fd in Path(f"/proc/{process.pid}/fd").iterdir():
            try:
                target = str(fd.readlink())
            except OSError:
                continue
            if target == str(path):
                found.append(str(fd))
    return found
