"""The episodes of one cell, told apart by what the device itself counted."""

from __future__ import annotations

import math

from strata.model.analysis import CellSummary
from strata.model.counters import blockdev
from strata.model.experiment import Metric
from strata.model.steadiness import Episodes

KINDS = {Metric.STALLED: "stalls", Metric.SLOWED: "slow"}
SHORT = 3.0
"""Bins: what is longer has some inside that hold nothing else, and these say whether anything was done."""


def episodes(cell: CellSummary, kind: str) -> Episodes | None:
    """``stalls`` or ``slow``, as they were cut; slow phases in which the device itself stood still are stalls.

    Bins that are not much shorter than a stall hold some of what was done before or after it (seen at 65 ms, bins of
    50).
    """
    known = cell.steadiness
    if known is None:
        return None
    slow = known.slow
    if slow is None or slow.factor is None or not _stood_still(cell, slow, known.bin_s):
        return slow if kind == "slow" else known.stalls
    if kind == "slow":
        return None
    nothing = 1 - 1 / slow.factor
    lengths = {name: getattr(slow, name) * nothing for name in ("share", "length_s", "longest_s")}
    return slow.model_copy(update={"factor": None, **lengths})


def _stood_still(cell: CellSummary, slow: Episodes, bin_s: float) -> bool:
    """Whether the device's own counter has one stall in each of them, about as long as what was not done in it takes:
    bins at either end of a stall hold some of what was done beside it."""
    share, device = stalled(cell, slow), cell.devices[-1] if cell.devices else None
    often = None if device is None else cell.readings.value(blockdev.STALLS, device=device, node=None)
    if not share or not often or slow.length_s >= SHORT * bin_s:
        return False
    return share / often >= slow.length_s * (1 - 1 / (slow.factor or math.inf)) / 2


def hidden(cell: CellSummary) -> float | None:
    """Share of the time that stalls may take although none was cut: that of slow phases of so few bins that nothing may
    be done in the middle of each, where the device does not say; None where no stall can be hidden."""
    known = cell.steadiness
    slow = None if known is None else known.slow
    if known is None or slow is None or slow.factor is None or slow.length_s >= SHORT * known.bin_s:
        return None
    return slow.share * (1 - 1 / slow.factor)


def stalled(cell: CellSummary, found: Episodes) -> float | None:
    """Share of the time in which the lowest device had requests under way and completed none; None where that is not
    what made the episodes."""
    device = cell.devices[-1] if cell.devices else None
    share = None if device is None else cell.readings.value(blockdev.STALLED_SECONDS, device=device, node=None)
    lost = found.share if found.factor is None else found.share * (1 - 1 / found.factor)
    return share if share is not None and share >= lost / 2 else None
