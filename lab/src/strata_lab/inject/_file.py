"""The test file of a lab's volume, and the page cache above the medium's own."""

from __future__ import annotations

import mmap
import os
from functools import partial
from pathlib import Path

from strata import units
from strata.errors import RunFailed
from strata.model.finding import Cause
from strata_lab.lab import Lab
from strata_lab.truth import ImpactMetric, Injection

too_good = partial(
    Injection,
    kind="data",
    hurts=ImpactMetric.FLATTERS,
    partly=(Cause.IMPOSSIBLE,),
    # Slow, so that being too good needs no machine of its own.
    options={"model": "c=4 svc=3200 bw=250"},
)
"""A trap that makes figures too good, where nothing else is said of these."""


def test_file(lab: Lab) -> Path:
    """Raises `RunFailed` when the lab has no volume."""
    volume = lab.last_fact("volume")
    if volume is None:
        raise RunFailed("the lab", lab.name, "has no volume with a test file")
    return Path(volume["file"])


def read_once(path: Path) -> None:
    """Reads all of it from the device: a cache there holds what it can, this machine's page cache nothing."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECT | os.O_CLOEXEC)
    try:
        # Of the kernel's own making, so aligned as unbuffered reading wants it.
        with mmap.mmap(-1, units.MIB) as buffer:
            while os.readv(fd, [buffer]):
                pass
    finally:
        os.close(fd)
