"""What a child of ours is started as: programs by their absolute path, an environment that is made, our own Python.

Strata often runs as root, in a directory and with variables that somebody else may have chosen. So a name is looked
for by root in a fixed list of directories (an ordinary user has his ``PATH``); a child gets the variables listed here
and no others, so neither ``LD_PRELOAD`` nor ``PYTHONPATH``; and a Python child of ours is isolated (``python -I``): no
module comes from the current directory, from ``PYTHON*`` or from the user's own site-packages. `strata.host.process`
starts what is put together here, in ``/``.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from strata.text import secrets

ROOTS_DIRECTORIES = (
    "/usr/local/sbin",
    "/usr/local/bin",
    "/usr/sbin",
    "/usr/bin",
    "/sbin",
    "/bin",
    "/run/current-system/sw/bin",
)
_KEPT = (
    *("HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR"),
    *("TERM", "COLUMNS", "LINES", "NO_COLOR", "CLICOLOR_FORCE"),
    *("CEPH_CONF", "KRB5_CONFIG", "KRB5CCNAME"),
)
_FAMILIES = ("LC_", "XDG_", "STRATA_")
_OF_A_USER = ("LD_LIBRARY_PATH",)
"""An ordinary user may have installed a client library for himself."""
_PATHS = ("TMPDIR", "CEPH_CONF", "KRB5_CONFIG", "STRATA_STATE_DIR", "STRATA_LAB_DIR", "STRATA_SMB_CREDENTIALS")
"""Relative ones mean our directory, which the child is not in."""
_START = str(Path(__file__).with_name("start.py").resolve())


def find(name: str) -> str | None:
    """The absolute path of a program of the system; None where it is not installed."""
    return shutil.which(name, path=_path())


def environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of a child: what is listed above, and ``more``."""
    kept = (*_KEPT, *(() if os.geteuid() == 0 else _OF_A_USER))
    made = {
        name: str(Path(value).absolute()) if value and name in _PATHS else value
        for name, value in os.environ.items()
        if (name in kept or name.startswith(_FAMILIES)) and not secrets.in_variable(name)
    }
    return {**made, "PATH": _path(), **(more or {})}


def python(module: str, *words: str) -> list[str]:
    """The words that run a module of a package of ours, the one that is loaded now, in a Python child of ours."""
    return [sys.executable, "-I", _START, str(_folder(module.partition(".")[0])), module, *words]


def python_file(file: Path, *words: str) -> list[str]:
    """The same for a file of ours that is run by itself: of its package nothing is loaded."""
    return [sys.executable, "-I", _START, str(_folder("strata")), str(file.resolve()), *words]


def _folder(package: str) -> Path:
    return Path(sys.modules[package].__path__[0]).resolve().parent


def in_netns(netns: str | None, words: Sequence[str]) -> list[str]:
    """The same words in the network namespace of that path; None: where we are."""
    if netns is None:
        return list(words)
    # Not `ip netns exec`: it would give the process a mount namespace of its own, in which no later mount is seen.
    return [find("nsenter") or "nsenter", f"--net={Path(netns).absolute()}", "--", *words]


def _path() -> str:
    if os.geteuid() == 0:
        return os.pathsep.join(ROOTS_DIRECTORIES)
    # A relative directory, or an empty one, is the current one: a child is not in it.
    given = [p for p in os.environ.get("PATH", "").split(os.pathsep) if p.startswith("/")]
    # A user's PATH often lacks where daemons live.
    return os.pathsep.join([*given, *(p for p in ROOTS_DIRECTORIES if p not in given)])
