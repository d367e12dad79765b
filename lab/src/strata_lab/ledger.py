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
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from strata.errors import RunFailed, UsageError
from strata_lab import where

Line = dict[str, Any]
_FILE = "ledger.jsonl"
_LOOK_S = 0.1
_LOCK = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC


class Gone(UsageError):
    """There is no lab of that name, or not any more."""


def names() -> tuple[str, ...]:
    """Every lab that is there, also one that is just being begun, in alphabetical order."""
    try:
        return tuple(sorted(p.name for p in where.own_ledgers().iterdir() if p.is_dir()))
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
    fd = os.open(root / "lock", _LOCK | os.O_CREAT, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


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
            raise UsageError("cannot build the lab", repr(self.name), "a lab with that name exists", hint)
        os.close(self._lock_file())
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
        """Every whole line that is one. Raises `UsageError` when there is no such lab."""
        return [line for _, line in self._read() if line is not None]

    def damaged(self) -> tuple[int, ...]:
        """The numbers of the lines that are none. One torn by a kill is not meant: what it spoke of was not made."""
        return tuple(number for number, line in self._read() if line is None)

    def _read(self) -> list[tuple[int, Line | None]]:
        try:
            content = self.path.read_bytes()
        except FileNotFoundError as e:
            if self.dir.is_dir():
                return []  # `up` has the name and nothing else yet
            raise self._gone() from e
        whole = content[: content.rfind(b"\n") + 1].splitlines()
        return [(number, _parsed(raw)) for number, raw in enumerate(whole, 1)]

    def _gone(self) -> Gone:
        return Gone("there is no lab", repr(self.name), "", f"labs: {', '.join(names()) or 'none is up'}")

    @property
    def head(self) -> Line:
        """The line it begins with: token, subnet index, stack. Empty while there is none."""
        return next((line for line in self.lines() if "lab" in line), {})

    def facts(self, kind: str) -> list[Line]:
        """Every fact of that kind, oldest first."""
        return [x for x in self.lines() if x.get("fact") == kind]

    def undos(self) -> list[Line]:
        """What is to be removed, newest first. A line that a later one proves (a namespace's inode) is left out."""
        lines = [x for x in self.lines() if "undo" in x]
        proven = [_of(x) for x in lines if "inode" in x]
        return [x for x in reversed(lines) if "inode" in x or _of(x) not in proven]

    @contextmanager
    def claimed(self) -> Iterator[None]:
        """As `locked`, for `up`: the name is taken while it is held, before anything is written or made.

        Raises `RunFailed` when another command has it. A name that nothing was written about is free again.
        """
        lock = self.dir / "lock"
        while True:
            fd = self._lock_file()
            try:
                _take(fd, lock, wait=False)
            except Gone:
                os.close(fd)  # the lab of that name went in this moment
            except BaseException:
                os.close(fd)
                raise
            else:
                break
        try:
            yield
        finally:
            # Where the lock is another's by now, so is the name.
            if not self.path.exists() and _same(fd, lock):
                self.forget()
            os.close(fd)

    @contextmanager
    def locked(self, wait: bool = True, say: Callable[[str], None] = lambda _: None) -> Iterator[None]:
        """Held by whoever builds, changes or removes the lab; `RunFailed` when ``wait`` is false and it is held.

        That it waits, and for whom, is said. Raises `Gone` when there is no such lab (any more).
        """
        try:
            # A directory without it is being begun, or `up` was killed right there.
            fd = os.open(self.dir / "lock", _LOCK | os.O_CREAT, 0o600)
        except FileNotFoundError as e:
            raise self._gone() from e
        try:
            _take(fd, self.dir / "lock", wait=wait, say=say)
            yield
        finally:
            os.close(fd)

    @property
    def busy(self) -> bool:
        """Whether a command builds, changes or removes the lab now. Raises `Gone`."""
        try:
            fd = os.open(self.dir / "lock", _LOCK)
        except FileNotFoundError as e:
            raise self._gone() from e
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(fd)
        return False

    def forget(self) -> None:
        """Removes the ledger itself; only when everything in it is undone. Whoever waits for the lock finds it gone."""
        for path in (self.path, self.dir / "lock"):
            path.unlink(missing_ok=True)
        with suppress(OSError):  # another `up` has begun to take the name
            self.dir.rmdir()

    def _lock_file(self) -> int:
        while True:
            where.own_ledgers(make=True)
            self.dir.mkdir(mode=0o700, exist_ok=True)
            with suppress(FileNotFoundError):
                return os.open(self.dir / "lock", _LOCK | os.O_CREAT, 0o600)


def encoded(line: Line) -> bytes:
    """One line of the file."""
    return (json.dumps(line, separators=(",", ":")) + "\n").encode()


def _of(line: Line) -> tuple[str, str]:
    return str(line["undo"]), str(line.get("name") or line.get("path"))


def _parsed(raw: bytes) -> Line | None:
    try:
        line = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return line if isinstance(line, dict) else None


def _take(fd: int, path: Path, *, wait: bool = True, say: Callable[[str], None] = lambda _: None) -> None:
    """Takes the lock that was opened; closing it lets go. Raises `Gone` when it was removed before it was taken."""
    try:
        _take_soon(fd)
    except BlockingIOError as e:
        holder = os.pread(fd, 20, 0).decode("ascii", "replace").strip()
        who = f"process {holder}" if holder else "another command"
        if not wait:
            why = f"{who} is building, changing or removing it"
            raise RunFailed("the lab", path.parent.name, why, "wait for it to end") from e
        say(f"{who} is using the lab {path.parent.name}; waiting for it to end")
        fcntl.flock(fd, fcntl.LOCK_EX)
    if not _same(fd, path):
        raise Gone("there is no lab", repr(path.parent.name), "", "strata lab list")
    os.ftruncate(fd, 0)
    os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)


def _take_soon(fd: int) -> None:
    """Whoever only looks whether it is held lets go at once."""
    deadline = time.monotonic() + _LOOK_S
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise
            time.sleep(_LOOK_S / 10)
        else:
            return


def _same(fd: int, path: Path) -> bool:
    try:
        return path.stat().st_ino == os.fstat(fd).st_ino
    except FileNotFoundError:
        return False
