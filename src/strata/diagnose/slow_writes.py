"""Writes that no layer below was measured with, far slower than reads of the same layer.

A raw disk is never written to, so nothing tells whether the lowest file system or its disk makes its writes slow. Where
no rule knows why they are, that the other workloads cost nothing more says nothing of them: all is not well.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from strata.diagnose.case import Case, Station
from strata.model.analysis import CellSummary

FAR = 4.0
"""Times as slow as reads of their size, depth and order, both ends of the intervals. It changes no verdict of
309 kept cases: flushes, drains and full caches have rules of their own."""


@dataclass(frozen=True)
class SlowWrite:
    """A workload of writes beside reads of the same size, depth and order, at one layer."""

    station: Station
    write: CellSummary
    read: CellSummary

    @property
    def times(self) -> float:
        """How many times as slow."""
        return self.read.iops.value / self.write.iops.value


def slow_writes(case: Case) -> tuple[SlowWrite, ...]:
    """The slowest first."""
    return tuple(sorted(_found(case), key=lambda one: -one.times))


def _found(case: Case) -> Iterator[SlowWrite]:
    for station in case.stations:
        below = {layer.name for layer in case.stack.stands_on(station.layer)}
        told = {c.workload.key for one in case.stations if one.layer.name in below for c in one.cells}
        for write in station.cells:
            w = write.workload
            # Reads from the page cache say nothing of the medium.
            if not below or w.rw.reads or w.key in told or not w.saturates or not w.direct:
                continue
            for read in station.cells:
                r = read.workload
                alike = (r.bs_moments, r.outstanding, r.rw.random) == (w.bs_moments, w.outstanding, w.rw.random)
                if alike and not r.rw.writes and r.saturates and r.direct and _surely(read, write):
                    yield SlowWrite(station, write, read)


def _surely(read: CellSummary, write: CellSummary) -> bool:
    low = read.iops.value if read.iops.low is None else read.iops.low
    high = write.iops.value if write.iops.high is None else write.iops.high
    return low >= FAR * high
