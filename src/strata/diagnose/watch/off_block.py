"""A device that begins between two blocks of what is below it: a write first reads the blocks it covers in part."""

from __future__ import annotations

from strata.diagnose.watch.view import LoadView
from strata.model.resources import place

BLOCK, FEW_BLOCKS = 4096, 16
"""Bytes of a block of what is below a device; of a write of more blocks, the two that are read first are the less."""
MOSTLY, SLOWED = 0.8, 1.25
"""Of the requests that are writes; of a specified time from which on one is longer than it should be."""


def device(view: LoadView) -> str | None:
    """One of the lowest layer that begins so."""
    below = view.seen.reaches(view.lowest.name)
    names = [place(one, below.node) for one in below.devices]
    return next((n for n in names if view.seen.starts.get(n, 0) % BLOCK), None)


def slows(view: LoadView) -> bool:
    """Whether that makes each of the load's requests longer, one by one: nearly all are small writes, and the
    specification does not say that they take no longer than they should.
    """
    disk, spec = view.disk, view.spec
    if disk is None or view.request_ns is None or device(view) is None:
        return False
    small_writes = disk.writes >= MOSTLY * view.iops and view.size <= FEW_BLOCKS * BLOCK
    return small_writes and (spec is None or view.request_ns >= SLOWED * spec.service_ns(view.size))
