"""The fio that is installed: where it is, how old it is, and which I/O engines it was built with."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess

from strata.errors import RunFailed
from strata.model.base import Value

OLDEST = (3, 18)
"""The first with distributions of submission and total time beside that of completion."""

INSTALL = "install it (Debian, Ubuntu, Fedora: the package is called fio), or use --engine native"


class Program(Value):
    """``version`` as fio prints it (``fio-3.33``); ``ioengines`` are the names it lists."""

    path: str
    version: str
    ioengines: frozenset[str]


def installed() -> Program:
    """The fio of the PATH. Raises `RunFailed` when there is none, or none that can be used."""
    path = shutil.which("fio")
    if path is None:
        raise RunFailed("cannot use the engine", "fio", "fio is not installed", INSTALL)
    return _looked_at(path)


@functools.cache
def _looked_at(path: str) -> Program:
    version = _said(path, "--version").strip()
    number = re.match(r"fio-(\d+)\.(\d+)", version)
    if number is None:
        raise RunFailed("cannot use the engine", path, f"it calls itself {version[:80]!r}, not fio", INSTALL)
    if (int(number[1]), int(number[2])) < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise RunFailed("cannot use the engine", path, f"it is {version}, at least {oldest} is needed", INSTALL)
    listed = _said(path, "--enghelp").splitlines()[1:]
    return Program(path=path, version=version, ioengines=frozenset(line.strip() for line in listed if line.strip()))


def _said(path: str, word: str) -> str:
    try:
        done = subprocess.run(
            [path, word],
            env={**os.environ, "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=30,
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as e:
        raise RunFailed("cannot use the engine", path, str(e), INSTALL) from e
    if done.returncode != 0:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:]
        raise RunFailed("cannot use the engine", path, f"{word} ended with {done.returncode}", INSTALL, tuple(last))
    return done.stdout
