"""Two groups in the times of single requests: members that differ, or a cache that answers some of them."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from strata.diagnose import times
from strata.diagnose.case import Station
from strata.diagnose.reference import healthy
from strata.model.analysis import CellSummary

EDGE = 2.0
"""Percent at either end that are not looked at: single events."""
GAP, APART, TIGHT = 1.4, 1.6, 1.6
"""Between two neighbours of a hundred; between the medians of the groups; the middle of the quick group."""
SMEARED = 6.0
"""Percent over which the border may be spread: the rounds of a cell have their border at another percentile each, and
the curve is their mean."""
A_CACHE = 30.0
"""Times quicker is no member of the same kind: it is a cache."""
LEAST_DEPTH, UNQUEUED, WAITS = 8, 1.5, 2.0


@dataclass(frozen=True)
class Groups:
    """Of one cell with one outstanding: seconds of the middle of both groups, and the share of the slow one."""

    cell: CellSummary
    quick: float
    slow: float
    share: float

    @property
    def ratio(self) -> float:
        """How many times longer the slow ones take."""
        return self.slow / self.quick


def groups(station: Station) -> Iterator[Groups]:
    """Of the layer's small reads, one at a time, where their times fall into two."""
    for cell in station.cells:
        w = cell.workload
        if w.outstanding == 1 and w.saturates and w.rw.random and not w.rw.writes and (found := _split(cell)):
            yield found


def _split(cell: CellSummary) -> Groups | None:
    inside = [(p, ns) for p, ns in cell.curve if EDGE <= p <= 100 - EDGE and ns > 0]
    sharp = max(pairwise(inside), key=_jump, default=None)
    if sharp is not None and _jump(sharp) >= math.log(GAP):
        return _parted(cell, inside, sharp, tight=False)
    places = [p for p, _ in inside]
    ends = (inside[bisect_right(places, p + SMEARED) - 1] for p in places)
    wide = max(zip(inside, ends, strict=True), key=_jump, default=None)
    if wide is None or _jump(wide) < math.log(APART):
        return None
    # Without a sharp border a tail that only grows looks alike, but for its own spread.
    return _parted(cell, inside, wide, tight=True)


Place = tuple[float, float]
"""A percentile and its nanoseconds."""


def _jump(between: tuple[Place, Place]) -> float:
    (_, here), (_, there) = between
    return math.log(there / here)


def _parted(cell: CellSummary, inside: Sequence[Place], border: tuple[Place, Place], tight: bool) -> Groups | None:
    (last, _), (first, _) = border
    low, high = [ns for p, ns in inside if p <= last], [ns for p, ns in inside if p >= first]
    if not _is_tight(low) or (tight and not _is_tight(high)):
        return None
    quick, slow = float(np.median(low)), float(np.median(high))
    if slow < APART * quick:
        return None
    middle = math.sqrt(quick * slow)
    within, beyond = max(p for p, ns in inside if ns <= middle), min(p for p, ns in inside if ns > middle)
    return Groups(cell, quick / 1e9, slow / 1e9, 1 - (within + beyond) / 200)


def _is_tight(group: Sequence[float]) -> bool:
    return bool(np.quantile(group, 0.9) <= TIGHT * np.quantile(group, 0.1))


def pass_by(station: Station) -> tuple[CellSummary, ...]:
    """Deep cells in which most requests take as long as one alone while others wait: they wait for something that most
    do not need."""
    alone = [c for c in station.cells if c.workload.outstanding == 1 and not c.workload.rw.writes]
    quick = min((ns for c in alone if (ns := times.at(c, 50)) is not None), default=None)
    found = []
    for cell in deep_reads(station):
        middle = times.at(cell, 50)
        if middle is None or quick is None:
            continue
        if middle <= UNQUEUED * quick and cell.workload.outstanding / cell.iops.value * 1e9 >= WAITS * middle:
            found.append(cell)
    return tuple(found)


def a_cache(station: Station, found: Groups) -> bool:
    """Whether the quick ones are a cache's: quicker than is promised, or than any member of the same kind."""
    known = healthy(station.layer.expect)
    if known is not None and known.latency is not None:
        return found.quick < known.latency / 2
    return found.ratio >= A_CACHE


def member(station: Station) -> tuple[Groups, tuple[CellSummary, ...]] | None:
    """What tells of a member that is slower than the others: the groups, and the deep cells that it holds up."""
    held = pass_by(station)
    for found in groups(station):
        if held and not a_cache(station, found) and found.share <= 0.6:
            return found, held
    return None


def deep_reads(station: Station) -> Iterator[CellSummary]:
    """Its random reads with so many outstanding that most of them could wait for the others."""
    for cell in station.cells:
        w = cell.workload
        if w.outstanding >= LEAST_DEPTH and w.rw.random and not w.rw.writes:
            yield cell


def cached(station: Station) -> Groups | None:
    """The groups, where the quick one is a cache's."""
    return next((g for g in groups(station) if a_cache(station, g)), None)
