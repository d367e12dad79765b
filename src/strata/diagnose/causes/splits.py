"""Requests are split into smaller ones.

What it claims
    The device gets several requests for each large I/O, and each of them has the cost of a request.
Why it matters
    Large blocks then gain nothing over small ones. It is one setting of the queue (or the stripe), not the medium.
Evidence it needs
    Operational: at the lowest device 1.4 requests or more for each I/O of a large block, and about one for a small
    block of the same direction. Differential: from the cost of a request and of a byte there, unsplit requests would
    carry at least a tenth more. Or, where no workload is larger than a request of the device (256 KiB are usual): the
    largest request that the survey found there, and an experiment with a larger read.
What rules it out
    One request for each I/O; a device that takes as long for the pieces as for the whole, because bytes are its limit;
    small writes with as many requests beside their data, which are those of a journal; devices that the survey found to
    take the whole I/O as one request (then the pieces lie apart, as those of a fragmented file do).
What to do next
    Raise the queue's maximum request size (``max_sectors_kb``, at most ``max_hw_sectors_kb``), or use blocks of that
    size; then check the stripe and the alignment of large requests to it.
How sure
    By how far the number of requests per I/O is from one, and by what unsplit requests would give.
Example
    Reads of 256 KiB on a queue with a maximum of 16 KiB: 16 requests for each, 27 MB/s where unsplit ones carry 180.
Source
    The kernel's documentation of the block queue (Documentation/ABI/stable/sysfs-block: max_sectors_kb,
    max_hw_sectors_kb).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from strata import units
from strata.diagnose import largest
from strata.diagnose.case import Case, Station
from strata.diagnose.evidence import differential, operational
from strata.diagnose.largest import USUAL, Larger, larger
from strata.diagnose.opinion import Opinion, Weight
from strata.model.analysis import CellSummary
from strata.model.counters import blockdev
from strata.model.ends import Flow
from strata.model.finding import Cause

CAUSE = Cause.SPLITS
PRECEDENCE = 24
EXPERIMENT = "larger-read"
LEAST_PIECES, MOST_WHOLE, LEAST_LOSS = 1.4, 1.2, 0.1
LEAST_UNTRIED = math.log(1.25)
"""What larger I/O must lose to be asked for, on logs: less is not felt."""


@dataclass(frozen=True)
class SplitCell:
    """One cell whose requests are cut: into so many pieces at a device; ``whole`` is what whole ones would give."""

    cell: CellSummary
    device: str
    pieces: float
    whole: float

    @property
    def loss(self) -> float:
        """−ln of what is left of the IOPS that whole requests would give."""
        return math.log(self.whole / self.cell.iops.value)


def judge(case: Case) -> Iterator[Opinion]:
    """At the lowest layer where it is seen."""
    for station in case.stations:
        most = largest.requests(case, station)
        cuts = [c for cell in station.cells if (c := _cut(station, cell)) is not None and not _taken_whole(cell, most)]
        costly = [cut for cut in cuts if cut.loss >= LEAST_LOSS]
        if costly:
            yield _opinion(station, costly)
            return
        if cuts:
            return
    for station in case.stations:
        if (found := larger(case, station)) is not None and math.log(found.whole / found.split) >= LEAST_UNTRIED:
            yield _untried(case, station, found)
            return


def _untried(case: Case, station: Station, found: Larger) -> Opinion:
    """Nobody has seen it, and the device takes no larger request: until an experiment has tried one."""
    layer, size, most = station.layer.name, units.size(found.size), units.size(found.most)
    tried = [t.changed for t in case.outcomes(EXPERIMENT) if t.experiment.layer == layer]
    counted = [f.per_io.value for cell in tried if (f := _requests(cell)) is not None and f.per_io is not None]
    if counted and max(counted) < LEAST_PIECES:
        each = units.significant(max(counted), 2)
        return Opinion(False, f"{found.device} gets {each} requests for each I/O of {size}", layer=layer)
    lost, gain = math.log(found.whole / found.split), units.significant(found.whole / found.split, 2)
    seen = [
        operational(f"the largest request of {found.device} has {most}; no workload has larger blocks", [found.cell])
    ]
    if counted:
        pieces = units.significant(max(counted), 2)
        seen.append(operational(f"{found.device} gets {pieces} requests for each I/O of {size}", tried))
    return Opinion(
        holds=None,
        because=f"no workload is larger than a request of {found.device}",
        title=f"I/Os above {most} are split into several requests",
        explanation=f"{found.device} takes requests of {most} at most. I/Os of {size} become {found.pieces} of them, "
        f"and each has the cost of a request; whole ones would give about {gain} times the IOPS. Smaller I/Os lose "
        "nothing.",
        next_step=f"Raise /sys/block/{found.device}/queue/max_sectors_kb to {units.size(USUAL)} or more (at most "
        f"max_hw_sectors_kb), or use blocks of {most}.",
        cells=frozenset(cell.workload.key for cell in tried),
        strength=min(1.0, 0.6 + lost),
        lead=6 * min(1.0, found.pieces - 1),
        evidence=tuple(seen),
        missing=(f"a workload of {size}",),
        weight=Weight.SHOWN,
        layer=layer,
        loss=lost / (len(station.cells) + 1),
    )


def _opinion(station: Station, cuts: list[SplitCell]) -> Opinion:
    worst = max(cuts, key=lambda c: c.loss)
    size = worst.cell.workload.bs_moments[0]
    pieces, piece = units.significant(worst.pieces, 2), units.size(round(size / worst.pieces))
    gain = worst.whole / worst.cell.iops.value
    return Opinion(
        title=f"I/Os of {units.size(round(size))} are split into {pieces} requests of about {piece}",
        explanation=f"{worst.device} gets {pieces} requests for each {worst.cell.workload.label}, and each has the "
        f"cost of a request; unsplit ones would give about {units.significant(gain, 2)} times the IOPS.",
        next_step=f"Raise /sys/block/{worst.device}/queue/max_sectors_kb to {units.size(round(size))} or more, or "
        f"use blocks of {piece}.",
        cells=frozenset(c.cell.workload.key for c in cuts),
        strength=min(1.0, 0.6 + worst.loss),
        lead=6 * min(1.0, worst.pieces - 1),
        evidence=(
            operational(
                f"{units.plural(len(cuts), 'workload')} with large blocks reached {worst.device} as {pieces} "
                "requests per I/O, small blocks as one",
                [c.cell for c in cuts],
            ),
            differential(
                f"{worst.cell.workload.label}: {units.count(worst.cell.iops.value)} IOPS; from the cost of "
                f"a request and of a byte at this device, unsplit requests would give {units.count(worst.whole)}",
                [worst.cell],
            ),
        ),
        weight=Weight.SHOWN,
        layer=station.layer.name,
        loss=sum(c.loss for c in cuts) / len(station.cells),
    )


def _cut(station: Station, cell: CellSummary) -> SplitCell | None:
    """The cell against a small one of the same direction and depth; None where it is not cut, or that is not known."""
    flow, beside = _requests(cell), _beside(station, cell)
    if flow is None or flow.per_io is None or (flow.per_io.low or flow.per_io.value) - beside < LEAST_PIECES:
        return None
    size, n = cell.workload.bs_moments[0], cell.workload.outstanding
    alike = [
        c
        for c in station.cells
        if c.workload.rw.writes == cell.workload.rw.writes
        and c.workload.outstanding == n
        and c.workload.bs_moments[0] * LEAST_PIECES < size
        and (small := _requests(c)) is not None
        and small.per_io is not None
        and small.per_io.value <= MOST_WHOLE
    ]
    if not alike:
        return None
    # Of the same order if there is one: what a disk with a head takes for a random block is no guide to a stream.
    nearest = min(alike, key=lambda c: (c.workload.rw.random != cell.workload.rw.random, c.workload.bs_moments[0]))
    pieces, least = flow.per_io.value - beside, nearest.workload.bs_moments[0]
    of_small, of_piece = n / nearest.iops.value, n / (pieces * cell.iops.value)
    # Pieces as small as the small blocks say nothing of what a byte costs.
    longer = size / pieces - least
    per_byte = max(0.0, (of_piece - of_small) / longer) if longer > 0.5 * least else 0.0
    whole = n / (min(of_small, of_piece) + per_byte * (size - least))
    return SplitCell(cell, flow.name, pieces, max(whole, cell.iops.value))


def _taken_whole(cell: CellSummary, most: Mapping[str, int]) -> bool:
    """Whether no device of the path limits its requests to less: then the pieces lie apart, as those of a fragmented
    file do."""
    known = [m for name in cell.devices if (m := most.get(name)) is not None]
    lowest = cell.devices[-1] in most if cell.devices else False
    return lowest and min(known) >= cell.workload.bs_moments[0]


def _beside(station: Station, cell: CellSummary) -> float:
    """Requests that are no part of its data: the journal of a file system writes its own for each I/O that has to reach
    the device, and as many for a small block, which no queue cuts."""
    if not cell.workload.rw.writes:
        return 0.0
    writes = [c for c in station.cells if c.workload.rw.writes]
    size = min(c.workload.bs_moments[0] for c in writes)
    small = [_requests(c) for c in writes if c.workload.bs_moments[0] == size < cell.workload.bs_moments[0]]
    return max([1.0, *(f.per_io.value for f in small if f is not None and f.per_io is not None)]) - 1


def _requests(cell: CellSummary) -> Flow | None:
    """What the lowest device of the layer was given in the direction of the workload, flushes apart.

    Of a stripe every member has a part of each request, which is what a stripe is for: None.
    """
    direction = "write" if cell.workload.rw.writes else "read"
    lowest = cell.devices[-1] if cell.devices else None
    if len(cell.carriers) > 1:
        return None
    found = [f for f in cell.flows if f.kind == "device" and f.direction == f.of == direction and f.per_io is not None]
    flow = next((f for f in found if f.name == lowest), found[0] if len(found) == 1 else None)
    return flow if flow is None or direction == "read" else _without_flushes(cell, flow)


def _without_flushes(cell: CellSummary, flow: Flow) -> Flow:
    """A flush is counted among the writes of its device, with no bytes."""
    flushes = sum(r.value for r in cell.readings.of(blockdev.FLUSHES, device=flow.name, node=flow.node))
    each = flushes / cell.iops.value if cell.iops.value > 0 else 0.0
    told = flow.per_io
    if told is None or each <= 0:
        return flow
    less = {k: max(0.0, v - each) for k in ("value", "low", "high") if (v := getattr(told, k)) is not None}
    return flow.model_copy(update={"per_io": told.model_copy(update=less)})
