"""The user's own test file, and a server of it that is there already: no run that a test asks for makes them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from strata.engine import Backing, TargetConfig, TargetProcess
from strata.host import testfile
from strata.host.mark import MARK_BYTES

SIZE = 16 << 20


def users_file(path: Path) -> Path:
    """A kept test file of `SIZE` bytes, with data that do not compress."""
    with testfile.new(path, SIZE) as held:
        os.pwrite(held.fd, os.urandom(SIZE - MARK_BYTES), MARK_BYTES)
        held.keep()
    return path


@contextmanager
def served(path: Path, *, direct: bool) -> Iterator[str]:
    """The address of a server of that file."""
    with testfile.own(path, lock=False) as held:
        backing = Backing(kind="file", path=str(path), fd=held.fd, read_only=False, direct=direct)
        with TargetProcess(TargetConfig(backing=backing, export="volume", guarded_bytes=MARK_BYTES)) as server:
            yield server.uri(1)
