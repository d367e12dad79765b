"""What a write waits for until it is durable: flushes of the device, their times and what they depend on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from strata.diagnose import times
from strata.diagnose.case import Case, Station
from strata.model.analysis import CellSummary

BEFORE_OURS = 0.75
"""Of a flush that is under way already, while the device does hardly anything else: a write that is ready waits for its
end before its own begins. Measured 0.8 of one at depth 8, where flushes took 95 % of the time."""
LEAST_FLUSHES = 0.2
"""For each write: below it flushes are not the workload's."""


@dataclass(frozen=True)
class Flushed:
    """One cell of writes: seconds of one flush, of one write with it, and flushes for each write; ``device`` None: as
    the generator's own flushes took."""

    cell: CellSummary
    flush: float
    whole: float
    per_write: float
    device: str | None

    @property
    def share(self) -> float:
        """Of a write's time: its own flush, and what is left of one before it."""
        busy = min(1.0, self.per_write * self.cell.iops.value * self.flush)
        waits = self.flush * (1 + (BEFORE_OURS * busy if self.cell.workload.outstanding > 1 else 0.0))
        return min(1.0, waits / self.whole)

    @property
    def size(self) -> float:
        """Bytes per write."""
        return self.cell.workload.bs_moments[0]


def flushed(station: Station) -> tuple[Flushed, ...]:
    """The cells of one layer whose writes are made durable one by one, where their flushes could be read."""
    return tuple(f for cell in station.cells if (f := _of(cell)) is not None)


def _of(cell: CellSummary) -> Flushed | None:
    w = cell.workload
    if not w.durable or w.rw.reads or not w.saturates or cell.mean_ns.value <= 0:
        return None
    middle = times.at(cell, 50)
    # Alone by the median: a busy machine holds up some of them for long.
    whole = middle / 1e9 if w.outstanding == 1 and middle and cell.flush_ns == {} else w.outstanding / cell.iops.value
    if "mean" in cell.flush_ns and cell.flushes:
        return Flushed(cell, cell.flush_ns["mean"] / 1e9, whole, cell.flushes / max(1, cell.ios), None)
    for name in cell.carriers or cell.devices[:1]:
        disk = cell.resources.disk(name)
        if disk is not None and disk.flush_ns is not None and disk.flushes:
            per_write = disk.flushes / cell.iops.value
            if per_write >= LEAST_FLUSHES / w.outstanding:
                return Flushed(cell, disk.flush_ns / 1e9, whole, per_write, name)
    return None


def lowest(case: Case, station: Station, device: str | None) -> str:
    """The lowest layer whose own device it is: a raw disk is not written to, and its flushes are seen from above."""
    if device is None:
        return station.layer.name
    under = {one.name for one in case.stack.stands_on(station.layer)}
    for one in case.stations:
        if one.layer.name in under and any(device in (c.carriers or c.devices) for c in one.cells):
            return one.layer.name
    return station.layer.name


def by_bytes(cells: tuple[Flushed, ...]) -> float | None:
    """Bytes per second at which flushes let writes go, where their time follows the bytes; None where it does not, or
    only one size was written."""
    sizes = sorted({f.size for f in cells})
    if len(sizes) < 2 or sizes[-1] < 4 * sizes[0]:
        return None
    rates = {s: float(np.median([s * f.cell.iops.value for f in cells if f.size == s])) for s in (sizes[0], sizes[-1])}
    small, large = rates[sizes[0]], rates[sizes[-1]]
    return (small * large) ** 0.5 if max(small, large) <= 1.35 * min(small, large) else None
