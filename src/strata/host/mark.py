"""Strata's mark: the first 4096 bytes of every test file, by which a file is known to be ours.

Eight bytes of magic, one JSON object with its own checksum, zeroes to the end. The zeroes are part of the
mark: a boot sector, an ext superblock, an LVM label or a swap header written over our file lands among them and
ends our ownership of it.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import time
import uuid
from dataclasses import asdict, dataclass
from pathlib import Path

from strata import units
from strata.host.proc import descriptor

MARK = b"STRATA\x00\x01"
MARK_BYTES = 4096
VERSION = 1
_DATE_STEP_NS = 2 * units.NS_PER_S


@dataclass(frozen=True)
class Mark:
    """What the mark says: the file's own ``uuid``, ``created`` (ns since the epoch), ``size`` (bytes, mark too)."""

    uuid: str
    created: int
    size: int
    version: int = VERSION

    @property
    def date_ns(self) -> int:
        """The modification time of the file while Strata does not write to it: when it was made, in whole even seconds,
        which every file system can keep. Whoever else writes to it moves it."""
        return self.created // _DATE_STEP_NS * _DATE_STEP_NS

    @classmethod
    def new(cls, size: int) -> Mark:
        """A mark no other file has."""
        return cls(uuid=str(uuid.uuid4()), created=time.time_ns(), size=size)


def _checksum(mark: Mark) -> str:
    return hashlib.sha256(json.dumps(asdict(mark), sort_keys=True).encode()).hexdigest()


def header_bytes(mark: Mark) -> bytes:
    """The 4096 bytes that stand at the start of the file."""
    body = json.dumps({**asdict(mark), "checksum": _checksum(mark)}, sort_keys=True).encode()
    return (MARK + body).ljust(MARK_BYTES, b"\0")


def parse_header(header: bytes) -> Mark | None:
    """The mark, when these bytes are one, unchanged in every bit; else None."""
    if len(header) < MARK_BYTES or not header.startswith(MARK):
        return None
    try:
        raw = json.loads(header[len(MARK) : MARK_BYTES].rstrip(b"\0"))
        mark = Mark(str(raw["uuid"]), int(raw["created"]), int(raw["size"]), int(raw["version"]))
    except (ValueError, KeyError, TypeError):
        return None
    # Comparing the bytes, not the fields, also covers the checksum and the padding.
    return mark if header_bytes(mark) == header[:MARK_BYTES] else None


def read_mark_fd(fd: int) -> Mark | None:
    """The mark of an open regular file; None when it has none."""
    try:
        return parse_header(os.pread(fd, MARK_BYTES, 0))
    except OSError:
        return None


def read_mark(path: Path | str) -> Mark | None:
    """The mark of a file; None for anything that is not a marked regular file. Follows no link, waits for no fifo."""
    try:
        with descriptor(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK) as fd:
            return read_mark_fd(fd) if stat.S_ISREG(os.fstat(fd).st_mode) else None
    except OSError:
        return None
