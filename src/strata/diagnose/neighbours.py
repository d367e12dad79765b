"""Somebody else's I/O on a device that a layer reaches: what its counters show beyond what was asked."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from strata.diagnose.case import Case, Station
from strata.model.analysis import CellSummary

LEAST_FOREIGN = 0.15
"""Of the device's bytes, in the median of the cells: below it a device's own housekeeping would do."""
MORE_IN_FLIGHT = 1.15
"""Times what the workload keeps: nobody but somebody else puts more into the queue than is outstanding."""


@dataclass(frozen=True)
class Foreign:
    """One cell: bytes per second of the device that were not asked for, requests of others under way, at ``device``."""

    cell: CellSummary
    device: str
    bytes_per_s: float
    requests: float
    share: float
    in_flight: float
    wait_ns: float | None


@dataclass(frozen=True)
class Neighbour:
    """What was seen in the cells of one layer. ``idle``: the device was used while nothing of ours ran, too."""

    station: Station
    cells: tuple[Foreign, ...]
    looked: int
    idle: float | None

    @property
    def share(self) -> float:
        """Of the device's bytes that are somebody else's."""
        return float(np.median([f.share for f in self.cells]))

    @property
    def requests(self) -> float:
        """Of others, per second."""
        return float(np.median([f.requests for f in self.cells]))


def on(case: Case, station: Station) -> Neighbour | None:
    """A neighbour on what carries the layer's data; None where its counters show none or were not read."""
    looked = [f for c in station.cells if (f := _foreign(c)) is not None]
    seen = [
        f for f in looked if f.share >= LEAST_FOREIGN and f.in_flight >= MORE_IN_FLIGHT * f.cell.workload.outstanding
    ]
    if len(seen) < max(2, len(looked) / 2):
        return None
    devices = {f.device for f in seen}
    idle = [f.reads + f.writes for f in case.analysis.foreign if f.device in devices]
    return Neighbour(station, tuple(seen), len(looked), max(idle) if idle else None)


def _foreign(cell: CellSummary) -> Foreign | None:
    """Of unbuffered reads alone: what a file system writes beside a write is its own."""
    if not cell.workload.direct or cell.workload.rw.writes or not cell.workload.saturates or not cell.devices:
        return None
    # Of a partition its whole disk: what others move on the other partitions is in its way, too.
    carriers = tuple(dict.fromkeys(_disk_of(cell, name) for name in cell.carriers or cell.devices[:1]))
    disks = [d for name in carriers if (d := cell.resources.disk(name)) is not None and d.in_flight is not None]
    if len(disks) != len(carriers) or not disks:
        return None
    moved = sum(d.read_bytes + d.write_bytes for d in disks)
    asked = cell.bytes_per_second.value
    if moved <= 0:
        return None
    requests = sum(d.reads + d.writes for d in disks)
    ours = [d.read_ns for d in disks if d.read_ns is not None]
    return Foreign(
        cell=cell,
        device=disks[0].device,
        bytes_per_s=max(0.0, moved - asked),
        requests=max(0.0, requests - cell.iops.value),
        share=max(0.0, 1 - asked / moved),
        in_flight=sum(d.in_flight or 0.0 for d in disks),
        wait_ns=max(ours, default=None),
    )


def _disk_of(cell: CellSummary, name: str) -> str:
    """The disk that it is a partition of, where that was counted, else itself."""
    whole = (d for d in cell.devices if _partition(name, d) and cell.resources.disk(d) is not None)
    return next(whole, name)


def _partition(name: str, disk: str) -> bool:
    """``sda3`` of ``sda``, ``nvme0n1p2`` of ``nvme0n1``."""
    between = "p" if disk[-1:].isdigit() else ""
    return name.startswith(disk + between) and name[len(disk + between) :].isdigit()
