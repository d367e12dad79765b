"""Checks of stripes and parity, and of what the file system above knows of them."""

from __future__ import annotations

from collections.abc import Iterator

from strata import units
from strata.discover.notices.say import info, warn
from strata.model.survey import Notice, Survey

_KNOWS = ("xfs", "ext2", "ext3", "ext4")
"""File systems that take an array's geometry when they are made, and show it among their options."""


def parity(survey: Survey) -> Iterator[Notice]:
    """A write within a stripe reads the old data and the old parity first."""
    made = [(d.path, d.geometry) for d in survey.devices if d.geometry is not None]
    made += [(survey.file_system.mount_point, survey.file_system.geometry)] if survey.file_system.geometry else []
    for name, array in made:
        if array.parity:
            yield info(
                "device.parity",
                f"{name} is {array.level} with a full stripe of {units.size(array.stripe)} "
                f"({array.data} × {units.size(array.chunk)} and {array.parity} parity)",
                f"a write within one chunk causes up to {array.small_write_requests} requests to the members (old data "
                "and parity are read, new ones written): small random writes are that much slower than reads",
                f"compare with writes of {units.size(array.stripe)} that are aligned to it (--bs), which read nothing",
            )


def stripe(survey: Survey) -> Iterator[Notice]:
    """Whether the file system was told of the array."""
    fs, placing = survey.file_system, survey.file_system.placing
    array = survey.array
    if placing is None or array is None or fs.geometry is not None or not placing.mkfs or fs.kind not in _KNOWS:
        return
    said = f"{units.size(array.stripe)} ({array.data} × {units.size(array.chunk)})"
    if placing.stripe_width is None:
        yield info(
            "fs.stripe-unknown",
            f"{fs.mount_point} does not know the stripe of the array below it, {said}",
            "files begin anywhere in a stripe: large I/Os touch one member more than needed, and a parity array reads "
            "before it writes",
            f"for a new file system: {placing.mkfs}",
        )
    elif placing.stripe_width != array.stripe or placing.stripe_unit not in (None, array.chunk):
        yield warn(
            "fs.stripe-mismatch",
            f"{fs.mount_point} aligns to stripes of {units.size(placing.stripe_width)}, the array's are {said}",
            "what it aligns lies across two stripes: large I/Os touch more members than needed, and a parity array "
            "reads before it writes",
            f"for a new file system: {placing.mkfs}",
        )


CHECKS = (parity, stripe)
