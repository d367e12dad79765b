"""Names for labs, each for one test."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from absent import absent
from loops import need, need_root

from strata_lab.down import down
from strata_lab.lab import Lab
from strata_lab.ledger import Ledger


@pytest.fixture
def name() -> Iterator[str]:
    """A name that no other test has; whatever is left of it goes."""
    need_root()
    for program in ("smbd", "qemu-nbd", "qemu-storage-daemon", "nsenter"):
        need(program)
    if not Path("/dev/fuse").exists():
        absent("this kernel has no /dev/fuse")
    found = f"t{uuid.uuid4().hex[:8]}"
    yield found
    if Ledger(found).path.exists():
        down(Lab.open(found))
