"""Which processes hold a device or a file open, or have it in their memory, under whatever name they opened it.

The kernel refuses a second exclusive opening and nothing else: a database or a virtual machine that writes to a raw
device holds it like any file. What is looked at are the open files and the mappings of every process, by the number of
the device and not by its name. It takes some milliseconds, so only who is about to write asks.

Blind to processes of another container, and to descriptors that are on their way through a socket or known to a ring
of io_uring alone.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from strata.host.proc import lines_of, read_text

Place = tuple[str, int, int]
"""A device by its number, ``("device", number, 0)``, or a file, ``("file", device, inode)``."""


@dataclass(frozen=True)
class Openers:
    """Who holds it: reasons, one a process; whether one of them may write; how many could not be looked at."""

    reasons: tuple[str, ...]
    writing: bool
    unseen: int


def place_of(found: os.stat_result) -> Place:
    """What an open file really is."""
    if stat.S_ISBLK(found.st_mode):
        return "device", found.st_rdev, 0
    return "file", found.st_dev, found.st_ino


def openers(of: Mapping[Place, str], root: Path = Path("/proc")) -> Openers:
    """The processes but this one that hold one of these; the words of each place begin its reason."""
    reasons: list[str] = []
    writing, unseen = False, 0
    mapped: dict[str, Place | None] = {}
    for process in root.iterdir():
        if not process.name.isdigit() or int(process.name) == os.getpid():
            continue
        try:
            held = [*_held(process), *_mapped(process, mapped)]
        except PermissionError:
            unseen += 1
            continue
        except OSError:
            continue  # it ended while it was looked at
        for place in dict.fromkeys(place for place, _ in held if place in of):
            may_write = any(writes for one, writes in held if one == place)
            writing |= may_write
            how = "for writing" if may_write else "for reading"
            who = f"process {process.name} ({read_text(process / 'comm') or '?'})"
            reasons.append(f"{of[place]} is held open {how} by {who}")
    return Openers(tuple(reasons), writing, unseen)


def _held(process: Path) -> Iterator[tuple[Place, bool]]:
    for entry in (process / "fd").iterdir():
        try:
            # What has no name on a file system cannot be a device, and asking it might wait for a server.
            if not os.readlink(entry).startswith("/"):  # noqa: PTH115
                continue
            place = place_of(entry.stat())
            flags = _flags(process / "fdinfo" / entry.name)
        except FileNotFoundError:
            continue
        if flags is not None and not flags & os.O_PATH:
            yield place, flags & os.O_ACCMODE != os.O_RDONLY


def _flags(info: Path) -> int | None:
    lines = (read_text(info) or "").splitlines()
    return next((int(line.split()[1], 8) for line in lines if line.startswith("flags:")), None)


def _mapped(process: Path, known: dict[str, Place | None]) -> Iterator[tuple[Place, bool]]:
    """Mappings outlive the descriptor they were made from. A file that many have mapped is looked at once."""
    for line in lines_of((process / "maps").read_bytes().decode("utf-8", "replace")):
        fields = line.split(None, 5)
        if len(fields) < 6 or fields[4] == "0":
            continue
        key = f"{fields[3]} {fields[4]}"
        if key not in known:
            begin, end = (int(part, 16) for part in fields[0].split("-"))
            try:
                known[key] = place_of((process / "map_files" / f"{begin:x}-{end:x}").stat())
            except FileNotFoundError:
                known[key] = None
        place = known[key]
        if place is not None:
            yield place, fields[1].endswith("s") and "w" in fields[1]
