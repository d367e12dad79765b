"""I/O that is larger than any request of a device: what splitting it would cost, by the cells that are not split."""

from __future__ import annotations

import math
from dataclasses import dataclass

from strata.diagnose.case import Case, Station
from strata.model.analysis import CellSummary

USUAL = 256 << 10
"""Bytes. Copies, backups and scans issue I/O as large as this; a queue that carries it whole is none to suspect."""
STEP = 4096
"""Bytes. The read is larger than a request by no more: a limit of bytes, which would look like pieces at twice the
size, takes next to nothing of it."""


@dataclass(frozen=True)
class Larger:
    """A read of ``size`` bytes at a layer, beside ``cell``, the largest that was measured.

    The device takes at most ``most`` bytes a request, so that each becomes so many ``pieces``. ``whole`` and ``split``:
    times the IOPS of ``cell`` that the read gives in each case.
    """

    cell: CellSummary
    device: str
    most: int
    size: int
    pieces: int
    whole: float
    split: float


def requests(case: Case, station: Station) -> dict[str, int]:
    """Bytes of the largest request that each device takes, where that is known: of this machine's devices the survey
    tells, and of no others."""
    if station.layer.target.remote or case.stack.scheduler is not None:
        return {}
    return {d.name: d.max_sectors_bytes for d in case.analysis.devices if d.max_sectors_bytes is not None}


def larger(case: Case, station: Station) -> Larger | None:
    """None where the device takes requests of the usual size, where larger ones than it takes were measured, or where
    it is not known what a request and what a byte costs."""
    most = requests(case, station)
    reads = [c for c in station.cells if _plain(c) and len(c.carriers) < 2]
    cell = max(reads, key=lambda c: (c.workload.bs, c.workload.outstanding), default=None)
    device = cell.devices[-1] if cell is not None and cell.devices else None
    if cell is None or device is None or not cell.workload.bs <= most.get(device, USUAL) < USUAL:
        return None
    n, most_of_it = cell.workload.outstanding, cell.workload.bs
    alike = [c for c in reads if c.workload.outstanding == n and 4 * c.workload.bs <= most_of_it]
    if not alike:
        return None
    quick = max(alike, key=lambda c: c.iops.value)
    here, small = n / cell.iops.value, n / quick.iops.value
    byte = max(0.0, here - small) / (most_of_it - quick.workload.bs)
    request, size = max(0.0, here - byte * most_of_it), (most[device] // STEP + 1) * STEP
    pieces = math.ceil(size / most[device])
    whole, split = (here / (requests * request + byte * size) for requests in (1, pieces))
    return Larger(cell, device, most[device], size, pieces, whole, split)


def _plain(cell: CellSummary) -> bool:
    w = cell.workload
    return (
        w.saturates and w.direct and w.outstanding > 1 and not w.rw.writes and w.range is None and cell.iops.value > 0
    )
