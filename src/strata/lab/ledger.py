"""What a lab made, written down before it is made: one file of JSON lines a lab.

A line ``{"undo": kind, …}`` says how to remove one thing, ``{"fact": kind, …}`` what others need to know of the lab. A
line is one ``write`` to a file opened for appending: a process killed at any instant leaves whole lines, or a torn last
one, and then what it spoke of was not made yet. Whoever changes a lab holds its lock: a descriptor that children keep
until they are what they were started as, so that `down` after a kill waits for a child that is writing itself down.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from strata.errors import RunFailed, UsageError
from strata.lab import where

Line = dict[str, Any]
_FILE = "ledger.jsonl"


def names() -> tuple[str, ...]:
    """Every lab that left a ledger, in alphabetical order."""
    try:
        return tuple(sorted(p.name for p in where.own_ledgers().iterdir() if (p / _FILE).is_file()))
    except FileNotFoundError:
        return ()


def heads() -> tuple[Line, ...]:
    """The first line of every lab. One that goes meanwhile has none: all of it is removed before its ledger is."""
    found = []
    for name in names():
        with suppress(UsageError):
            found.append(Ledger(name).head)
    return tuple(found)


@contextmanager
def all_labs_locked() -> Iterator[None]:
    """Held while a lab gets its name and subnet: two that come up at once do not get the same."""
    root = where.own_ledgers(make=True)
    with _flock(root / "lock"):
        yield


class Ledger:
    """The ledger of one lab. Raises `SafetyRefusal` where somebody else could have written it."""

    def __init__(self, name: str) -> None:
        self.name = where.checked(name)
        with suppress(FileNotFoundError):
            where.own_ledgers()
        self.dir = where.ledgers() / name
        self.path = self.dir / _FILE

    def create(self, head: Line) -> None:
        """Begins it with ``head``; raises `UsageError` when there is a lab of that name."""
        if self.path.exists():
            hint = f"strata lab down --name {self.name}, or give another --name"
            raise UsageError("cannot make the lab", repr(self.name), "there is one of that name", hint)
        where.own_ledgers(make=True)
        self.dir.mkdir(mode=0o700, exist_ok=True)
        self.append({"lab": self.name, **head})

    def append(self, line: Line) -> None:
        """Adds one line. What it says to undo must not have been made yet."""
        fd = self.open_fd()
        try:
            os.write(fd, encoded(line))
        finally:
            os.close(fd)

    def open_fd(self) -> int:
        """A descriptor for appending; a child writes itself down through it before it becomes another program."""
        return os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)

    def lines(self) -> list[Line]:
        """Every whole line. Raises `UsageError` when there is no such lab."""
        try:
            text = self.path.read_text()
        except FileNotFoundError as e:
            known = ", ".join(names()) or "none is up"
            raise UsageError("there is no lab", repr(self.name), "", f"labs: {known}") from e
        found = []
        for raw in text.splitlines():
            try:
                found.append(json.loads(raw))
            except json.JSONDecodeError:
                continue  # torn by a kill: what it spoke of was not made
        return found

    @property
    def head(self) -> Line:
        """The first line: token, subnet index, stack."""
        lines = self.lines()
        return lines[0] if lines and "lab" in lines[0] else {}

    def facts(self, kind: str) -> list[Line]:
        """Every fact of that kind, oldest first."""
        return [x for x in self.lines() if x.get("fact") == kind]

    def undos(self) -> list[Line]:
        """What is to be removed, newest first. A line that a later one proves (a namespace's inode) is left out."""
        lines = [x for x in self.lines() if "undo" in x]
        proven = {x["name"] for x in lines if "inode" in x}
        return [x for x in reversed(lines) if "inode" in x or x["undo"] != "netns" or x["name"] not in proven]

    @contextmanager
    def locked(self, wait: bool = True) -> Iterator[None]:
        """Held by whoever builds, changes or removes the lab. `RunFailed` when ``wait`` is false and it is held."""
        if not self.dir.is_dir():
            raise UsageError("there is no lab", repr(self.name), "", f"labs: {', '.join(names()) or 'none is up'}")
        with _flock(self.dir / "lock", wait):
            yield

    def forget(self) -> None:
        """Removes the ledger itself; only when everything in it is undone."""
        for path in (self.path, self.dir / "lock"):
            path.unlink(missing_ok=True)
        self.dir.rmdir()


def encoded(line: Line) -> bytes:
    """One line of the file."""
    return (json.dumps(line, separators=(",", ":")) + "\n").encode()


@contextmanager
def _flock(path: Path, wait: bool = True) -> Iterator[None]:
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError as e:
            raise RunFailed("the lab", path.parent.name, "another command works on it", "wait for it to end") from e
        yield
    finally:
        os.close(fd)
