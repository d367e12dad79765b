"""Checks of caches and tiers that can hold the whole test file, and of where a file lies."""

from __future__ import annotations

from collections.abc import Iterator

from strata import units
from strata.discover.notices.say import info, warn
from strata.model.hardware import NOT_TIERS
from strata.model.survey import Notice, Survey

FRAGMENT = units.MIB
"""Below this mean size of a fragment, an I/O of 128 KiB in eight meets a boundary."""
FRAGMENTS = 16
FREE_SHARE = 0.5


def tiers(survey: Survey) -> Iterator[Notice]:
    """A tier is fast until it is full, then the medium behind it shows."""
    for tier in survey.tiers:
        if tier.kind in NOT_TIERS:
            continue
        size = units.size(tier.size) if tier.size else "of unknown size"
        beyond = f"--size {-(-2 * tier.size // units.GIB)}g" if tier.size else "--size with more than its size"
        yield info(
            "device.cache-tier",
            f"{tier.at} has a cache, {tier.kind} ({size}{f', {tier.mode}' if tier.mode else ''})",
            "a test file that fits into it measures the cache; a larger one measures the cache until it is full, "
            "then the storage below it",
            f"decide which of both you want to know: a small file, or {beyond}",
        )


def fragments(survey: Survey) -> Iterator[Notice]:
    """A file in many pieces."""
    file, placing = survey.file, survey.file_system.placing
    if file is not None and file.fragments and file.fragments > FRAGMENTS and file.size / file.fragments < FRAGMENT:
        unit = placing.unit if placing else 4096
        yield warn(
            "fs.fragmented",
            f"{file.path} lies in {units.count(file.fragments)} fragments of {units.size(file.size / file.fragments)} "
            f"on average (at most {units.count(-(-file.size // unit))} are possible)",
            "sequential I/O becomes random at every boundary, and one I/O may become several requests",
            "copy it to a new file, or measure on a test file of Strata's own beside it and compare",
        )
    if placing is not None and placing.free_groups and placing.free_groups_small is not None:
        share = placing.free_groups_small / placing.free_groups
        if share > FREE_SHARE:
            yield info(
                "fs.free-fragmented",
                f"the free space of {survey.file_system.mount_point} is fragmented: {units.percent(share)} of its "
                "block groups have no free MiB in one piece",
                "a new test file is fragmented from the start, and the figures reflect this state",
                "e4defrag, or measure a file that was written while the file system was emptier",
            )


CHECKS = (tiers, fragments)
