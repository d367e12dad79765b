"""Where labs keep what they know (the ledgers) and what they hold (images, logs, configuration)."""

from __future__ import annotations

import os
import re
from pathlib import Path

from strata.errors import UsageError
from strata.host import ownership

_NAME = re.compile(r"[a-z][a-z0-9]{0,11}")
_HINT = "set STRATA_LAB_DIR to a directory of your own"
_HOLDS = rf"lock|{_NAME.pattern}"


def is_root() -> bool:
    """Whether namespaces, mounts and loop devices can be made; without, only a reduced lab runs."""
    return os.geteuid() == 0


def ledgers() -> Path:
    """The directory that holds one directory a lab. It need not exist.

    For root it is one place whatever the environment says, so that `down` finds what any `up` made.
    """
    if own := os.environ.get("STRATA_LAB_DIR"):
        return Path(own).absolute()
    if is_root():
        return Path("/run/strata/lab")
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    return Path(runtime if runtime.startswith("/") else f"/tmp/strata-{os.geteuid()}") / "strata" / "lab"


def own_ledgers(*, make: bool = False) -> Path:
    """`ledgers`, proven to be ours alone: what lies there says what is removed.

    Raises `SafetyRefusal`; `FileNotFoundError` where it is not there and ``make`` is false.
    """
    return ownership.folder(ledgers(), _HINT, _HOLDS, make=make)


def data_dir(name: str) -> Path:
    """Where the lab of that name keeps its files: on a disk, because ``/run`` is memory."""
    whose = "" if is_root() else f"-{os.geteuid()}"
    return Path(f"/var/tmp/strata-lab{whose}-{name}")


def checked(name: str) -> str:
    """The name, if a lab may have it (namespaces, control groups and directories carry it). Raises `UsageError`."""
    if not _NAME.fullmatch(name):
        why = "it must be 1 to 12 lower-case letters and digits, starting with a letter"
        raise UsageError("cannot name a lab", repr(name), why, "for example: strata lab up local --name demo")
    return name
