"""Checks of devices that are reached over several paths."""

from __future__ import annotations

from collections.abc import Iterator

from strata.discover.notices.say import info, warn
from strata.model.hardware import Multipath
from strata.model.survey import Notice, Survey

_GOOD_ANA = (None, "optimized")


def lost(survey: Survey) -> Iterator[Notice]:
    """Fewer paths than there are, or than redundancy needs."""
    for device in survey.devices:
        paths = device.multipath.paths if device.multipath else ()
        down = [path for path in paths if not path.works]
        if down:
            said = ", ".join(f"{path.name} {path.state}" for path in down)
            yield warn(
                "device.path-lost",
                f"{device.path} has lost {len(down)} of its {len(paths)} paths ({said})",
                "the other paths carry everything: less bandwidth than usual, and retries may stall I/O",
                "repair the path first (multipath -ll, nvme list-subsys)",
            )
        elif device.multipath and len(paths) == 1:
            yield warn(
                "device.one-path",
                f"{device.path} is a multipath device with one path",
                "the figures are those of one path; a failure of it stops all I/O",
                "check cabling and zoning, and that the target exports every port",
            )


def policy(survey: Survey) -> Iterator[Notice]:
    """Paths that carry nothing until another fails."""
    for device in survey.devices:
        found = device.multipath
        if found is None or len(found.paths) < 2:
            continue
        if (used := _used(found)) < len(found.paths):
            yield info(
                "device.path-failover",
                f"{device.path} sends I/O over {used} of its {len(found.paths)} paths "
                f"({found.how}, {found.policy or 'policy unknown'})",
                "the others are for failover, and add no bandwidth: figures are those of the paths in use",
                "for balanced paths: path_grouping_policy multibus (multipath.conf), or "
                "echo round-robin > /sys/class/nvme-subsystem/SUBSYSTEM/iopolicy, where the array supports it",
            )


def _used(found: Multipath) -> int:
    """Paths that the policy sends I/O to."""
    if found.how == "NVMe":
        best = sum(path.group in _GOOD_ANA for path in found.paths) or len(found.paths)
        return 1 if found.policy == "numa" else best
    grouped = [path for path in found.paths if path.group == "active group"]
    return len(grouped) or len(found.paths)


CHECKS = (lost, policy)
