"""What a write waits for until it is durable: flushes of the device, their times and what they depend on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from strata.diagnose import times
from strata.diagnose.case import Case, Station
from strata.diagnose.opinion import Opinion
from strata.diagnose.view import Point, View
from strata.model.analysis import CellSummary
from strata.model.endpoint import EndpointKind

BEFORE_OURS = 0.75
"""Of a flush that is under way already, while the device does hardly anything else: a write that is ready waits for its
end before its own begins. Measured 0.8 of one at depth 8, where flushes took 95 % of the time."""
BY_BYTES, LEAST_APART = 2.0, 4.0
"""Rates of sizes four times apart or more that are one rate: a flush of one time would set them as far apart as the
sizes. Measured of a cache that drains: 3.3 and 2.2 MB/s at 8 and 128 KiB."""
LEAST_APART_AT_ONE_SIZE = 2.5
"""Times as many bytes for a flush. At depth 8 a file system makes three or four writes durable with one."""
MORE = 1.5
"""Times as long as below: less is what a device's own scatter and a busy machine make."""
GIVEN, WAITED = 1.3, 0.6
"""Times as many requests or bytes for a commit; the part of the time with a request under way where a device is waited
for."""
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

    @property
    def bytes_per_flush(self) -> float:
        """Bytes that one flush makes durable."""
        return self.size / self.per_write


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


@dataclass(frozen=True)
class DurableWrite:
    """A durable write of a layer over the same below it: ns that ``device`` is busy for each of both, and how
    many times as many requests or bytes it is given for it."""

    point: Point
    device: str
    busy_ns: float
    below_ns: float
    given: float

    @property
    def more(self) -> float:
        """How many times as long."""
        return self.busy_ns / self.below_ns


def committed(view: View) -> tuple[DurableWrite, ...]:
    """Workloads of durable writes, one of which at least is slow, that wait for the device, and keep it busy `MORE`
    times as long as below. None where no commit gives it more to do: fewer at once keep it busy for longer, too."""
    made = (_busier(p) for p in view.everything if p.workload.durable and not p.workload.rw.reads)
    found = tuple(c for c in made if c is not None and c.more >= MORE)
    sure = any(c.given >= GIVEN for c in found) and any(c.point.above for c in found)
    return found if sure else ()


def reads_cost(view: View) -> float | None:
    """How many times as long the device is busy for a read as below, in the median; None where that is not known."""
    made = [c.more for p in view.everything if not p.workload.rw.writes and (c := _busier(p)) is not None]
    return float(np.median(made)) if made else None


def _busier(point: Point) -> DurableWrite | None:
    """The device of both cells that is busy for the longest in the upper one."""
    below = {d.name: d for d in point.lower.resources.disks if d.demand_ns}
    both = [(d, below[d.name]) for d in point.upper.resources.disks if d.demand_ns and d.name in below]
    if not both:
        return None
    mine, other = max(both, key=lambda pair: pair[0].demand_ns or 0.0)
    if not mine.demand_ns or not other.demand_ns or (mine.busy or 0.0) < WAITED:
        return None
    given = max(
        _ratio(mine.requests_per_io, other.requests_per_io),
        _ratio(mine.write_bytes_per_byte, other.write_bytes_per_byte),
    )
    return DurableWrite(point, mine.name, mine.demand_ns, other.demand_ns, given)


def _ratio(mine: float | None, other: float | None) -> float:
    return mine / other if mine and other else 0.0


def lowest(case: Case, station: Station, device: str | None) -> str:
    """The lowest layer whose own device it is: a raw disk is not written to, and its flushes are seen from above."""
    if device is None:
        return station.layer.name
    under = {one.name for one in case.stack.stands_on(station.layer)}
    for one in case.stations:
        if one.layer.name in under and any(device in (c.carriers or c.devices) for c in one.cells):
            return one.layer.name
    return station.layer.name


def blamed(case: Case, opinion: Opinion) -> tuple[Station, tuple[Flushed, ...]] | None:
    """A layer that can be written to, and its cells that the cause explains by their flushes.

    The layer that is blamed; of a raw device, which is never written to, the lowest above it whose writes wait for the
    same flushes.
    """
    for station in sorted(case.stations, key=lambda s: s.layer.name != opinion.layer):
        found = tuple(
            f
            for f in flushed(station)
            if f.cell.workload.key in opinion.cells
            and opinion.layer in (station.layer.name, lowest(case, station, f.device))
        )
        if found and station.layer.target.kind is not EndpointKind.BLOCK:
            return station, found
    return None


def by_bytes(cells: tuple[Flushed, ...]) -> float | None:
    """Bytes per second at which flushes let writes go, where their time follows the bytes; None where it does not, or
    all flushed about as many.

    Writes of several sizes tell it; of one size, flushes that have more of them to make durable at a greater depth.
    """
    sizes = sorted({f.size for f in cells})
    if len(sizes) > 1:
        ends = [[f for f in cells if f.size == s] for s in (sizes[0], sizes[-1])]
        apart, alike = sizes[-1] / sizes[0], BY_BYTES
        if apart < LEAST_APART:
            return None
    else:
        ordered = sorted(cells, key=lambda f: f.bytes_per_flush)
        ends = [ordered[:1], ordered[-1:]]
        apart = ordered[-1].bytes_per_flush / ordered[0].bytes_per_flush if ordered else 1.0
        # Nearer to one rate than to one time, on logs, and the flushes themselves too: what else limits writes at a
        # depth leaves a flush as short as it is.
        alike = apart**0.5
        if apart < LEAST_APART_AT_ONE_SIZE or ordered[-1].flush < alike * ordered[0].flush:
            return None
    low, high = (float(np.median([f.size * f.cell.iops.value for f in some])) for some in ends)
    return (low * high) ** 0.5 if max(low, high) <= alike * min(low, high) else None
