"""Whether a cache was cold when the run began and became warm while it was measured.

The first reads of all go to the medium, at its rate, until the data is in the cache; from then on the same reads are
answered by it, in every later round. What else is slow at the begin of a run (a busy machine, another user) does not
keep to the rate that the medium's durable writes have, holds up writes as well, or comes again.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile

import numpy as np

from strata.diagnose.case import Case, Station
from strata.model.analysis import CellSummary
from strata.model.workload import Workload

FEWEST_BINS, FEWEST_ROUNDS = 3, 2
"""Of the first round that are slow, and later rounds that are quick."""
STEP, EVEN, CLEAR = 4.0, 1.5, 2.0
"""How many times quicker the later rounds are; within what the slow bins lie, the tenth of them at either end left out;
how far any later bin stays above them."""
AS_THE_MEDIUM, UNCHANGED = 1.5, 1.25
"""How near the slow bins come to the durable writes of that size, and writes of the first round to those of the later
ones."""
EACH = (0.9, 1.1)
"""Bytes that the device reads for each one that is asked for: it is the device's own cache, or none."""


@dataclass(frozen=True)
class WarmUp:
    """The read that was measured first: IOPS at first and in later rounds, and for how long, from the run's begin.

    ``written`` are the durable writes that tell the medium's rate.
    """

    cell: CellSummary
    slow: float
    quick: float
    seconds: float
    written: CellSummary

    @property
    def left(self) -> float:
        """What the slow bins left of the cell's quick rate, over all that was measured of it."""
        return min(1.0, float(np.mean([rate for _, _, rate in self.cell.timeline])) / self.quick)


def warmed_up(case: Case, ground: Station) -> WarmUp | None:
    """Of the lowest layer ``ground``; None where its cache was warm, or has none."""
    over = [s for s in case.stations if s is ground or ground.layer in case.stack.stands_on(s.layer)]
    cells = [c for s in over for c in s.cells if c.timeline]
    reads = [c for c in cells if _reads(c.workload)]
    if not reads:
        return None
    first = min(reads, key=lambda c: c.timeline[0][1])
    bytes_read = first.device_read_bytes_per_byte
    if bytes_read is None or not EACH[0] <= bytes_read <= EACH[1]:
        return None
    now, later = _rounds(first)
    if len({number for number, _, _ in first.timeline}) <= FEWEST_ROUNDS or not later:
        return None
    quick = float(np.median(later))
    cold = list(takewhile(lambda rate: rate * STEP <= quick, now))
    if len(cold) < FEWEST_BINS or min(cold) <= 0 or np.quantile(cold, 0.9) > EVEN * np.quantile(cold, 0.1):
        return None
    slow = float(np.median(cold))
    # The bin of the step itself may be slow in part: it ends the run of slow ones, or is one of the others.
    if min([*now[len(cold) :], *later]) < CLEAR * slow:
        return None
    written = _of_the_medium(first, slow, cells)
    if written is None or _at_first([written]) * UNCHANGED < 1:
        return None
    if _at_first([c for c in cells if c.workload.durable]) * UNCHANGED < 1:
        return None
    return WarmUp(first, slow, quick, first.timeline[len(cold) - 1][1], written)


def _reads(workload: Workload) -> bool:
    return workload.saturates and workload.direct and not workload.rw.writes


def _rounds(cell: CellSummary) -> tuple[list[float], list[float]]:
    """The rates of the round that was measured first, in their order, and those of all others."""
    points = sorted(cell.timeline, key=lambda point: point[1])
    number = points[0][0]
    return [r for n, _, r in points if n == number], [r for n, _, r in points if n != number]


def _of_the_medium(read: CellSummary, slow: float, cells: list[CellSummary]) -> CellSummary | None:
    """Durable writes of the read's size that are as fast as its slow bins: both wait for the medium. At most as deep,
    the deepest of them; what a greater depth adds to the read does not count against it."""
    like = [
        c
        for c in cells
        if c.workload.durable
        and not c.workload.rw.reads
        and c.workload.bs_moments == read.workload.bs_moments
        and c.workload.outstanding <= read.workload.outstanding
    ]
    if not like:
        return None
    near = max(like, key=lambda c: (c.workload.outstanding, c.workload.rw.random is read.workload.rw.random))
    deeper = read.workload.outstanding / near.workload.outstanding
    fits = near.iops.value / AS_THE_MEDIUM <= slow <= near.iops.value * AS_THE_MEDIUM * deeper
    return near if fits else None


def _at_first(writes: list[CellSummary]) -> float:
    """Of the writes, what their first rounds gave of their later ones, in the middle one; 0 where none has two."""
    both = [(now, later) for c in writes for now, later in (_rounds(c),) if later and np.median(later) > 0]
    return float(np.median([np.median(now) / np.median(later) for now, later in both])) if both else 0.0
