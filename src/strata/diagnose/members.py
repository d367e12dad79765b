"""Members that share a layer's data, as the counters of their own devices show them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from strata.diagnose.case import Case, Station
from strata.model.analysis import CellSummary

WHOLE, EVEN, HARDLY = 0.9, 1.25, 0.1
"""Bytes at each member for each byte written, where it has a copy; the most over the least of those; less is none."""


@dataclass(frozen=True)
class Shares:
    """One cell: of each member its share of the requests, its share of the time busy, and the time of one read."""

    cell: CellSummary
    names: tuple[str, ...]
    shares: tuple[float, ...]
    busy: tuple[float | None, ...]
    read_ns: tuple[float | None, ...]

    @property
    def used(self) -> float:
        """How many members it comes to: all where each has the same share, one where one has all."""
        return 1 / sum(s * s for s in self.shares)


def shares(station: Station) -> tuple[Shares, ...]:
    """Of random reads that pass the page cache, at layers whose data lies on several devices."""
    found = []
    for cell in station.cells:
        w = cell.workload
        if len(cell.carriers) < 2 or w.rw.writes or not w.rw.random or not w.direct or not w.saturates:
            continue
        disks = [cell.resources.disk(name) for name in cell.carriers]
        known = [d for d in disks if d is not None]
        total = sum(d.reads for d in known)
        if len(known) == len(disks) and total > 0:
            found.append(
                Shares(
                    cell,
                    cell.carriers,
                    tuple(d.reads / total for d in known),
                    tuple(d.busy for d in known),
                    tuple(d.read_ns for d in known),
                )
            )
    return tuple(found)


def counted(cell: CellSummary) -> bool:
    """Whether one of the devices that the data of this cell lies on was."""
    return any(cell.resources.disk(name) is not None for name in cell.carriers or cell.devices)


def used(cells: tuple[Shares, ...]) -> float:
    """Of the members, the median of the cells."""
    return float(np.median([c.used for c in cells]))


def copied(case: Case, names: tuple[str, ...]) -> bool:
    """Whether two of these devices or more, all that are written to, are written to alike, as copies are: then each of
    them has all of the data, whoever is read, and the others are to have none of it. By the writes of any layer: a raw
    device is only read."""
    for cell in (c for station in case.stations for c in station.cells if c.carriers == names):
        disks = [cell.resources.disk(name) for name in names]
        written = [d.write_bytes_per_byte or 0.0 for d in disks if d is not None]
        if cell.workload.rw.reads or len(written) < max(2, len(disks)):
            continue
        there = [b for b in written if b >= HARDLY]
        if len(there) > 1 and min(there) >= WHOLE and max(there) <= EVEN * min(there):
            return True
    return False
