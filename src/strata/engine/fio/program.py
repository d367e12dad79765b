"""The fio that is installed: where it is, how old it is, and which I/O engines it was built with."""

from __future__ import annotations

import functools
import re

from strata.errors import RunFailed
from strata.host import process, programs
from strata.model.base import Value

OLDEST = (3, 18)
"""The first with distributions of submission and total time beside that of completion."""

INSTALL = "install it (package fio on Debian, Ubuntu and Fedora), or use --engine native"


class Program(Value):
    """``version`` as fio prints it (``fio-3.33``); ``ioengines`` are the names it lists."""

    path: str
    version: str
    ioengines: frozenset[str]


def installed() -> Program:
    """The fio of the system. Raises `RunFailed` when there is none, or none that can be used."""
    path = programs.find("fio")
    if path is None:
        raise RunFailed("cannot use the engine", "fio", "fio is not installed", INSTALL)
    return _looked_at(path)


@functools.cache
def _looked_at(path: str) -> Program:
    version = _said(path, "--version").strip()
    number = re.match(r"fio-(\d+)\.(\d+)", version)
    if number is None:
        raise RunFailed(
            "cannot use the engine", path, f"its version string is {version[:80]!r}, not one of fio", INSTALL
        )
    if (int(number[1]), int(number[2])) < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise RunFailed("cannot use the engine", path, f"it is version {version}; at least {oldest} is needed", INSTALL)
    listed = _said(path, "--enghelp").splitlines()[1:]
    return Program(path=path, version=version, ioengines=frozenset(line.strip() for line in listed if line.strip()))


def _said(path: str, word: str) -> str:
    try:
        done = process.run([path, word], 30.0, {"LC_ALL": "C"})
    except OSError as e:
        raise RunFailed("cannot use the engine", path, e.strerror or str(e), INSTALL) from e
    if done.code != 0:
        last = (done.err or done.out).strip().splitlines()[-1:]
        raise RunFailed("cannot use the engine", path, f"{word} exited with {done.code}", INSTALL, tuple(last))
    return done.out
