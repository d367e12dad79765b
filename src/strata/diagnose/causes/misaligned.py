"""Requests are not aligned to the blocks of the medium.

What it claims
    The layer's block boundaries are inside blocks of the medium: a read touches one block more, and a write must read
    two before it can be written.
Why it matters
    Small writes lose most, and nothing above the partition can help. Recreating the partition on a boundary fixes it.
Evidence it needs
    Operational: a partition, loop device or mapping that does not start at a multiple of the medium's block (4 KiB
    where it reports less); then the experiment: the same reads shifted to a boundary gain an eighth or more. A start
    that no device reports (a virtual disk on a LUN) is not detected.
What rules it out
    The shifted workload gains nothing, or loses.
What to do next
    Recreate the partition (the LUN, the virtual disk) so that it starts at 1 MiB; until then use larger blocks.
How sure
    By the experiment. Without it, the misaligned start is a fact, its cost is not.
Example
    A file system from sector 63 on, blocks of 4 KiB: random writes of 8 KiB at 260 IOPS, shifted by 512 bytes at
    1 640.
Source
    The kernel's documentation of I/O topology (Documentation/ABI/stable/sysfs-block: alignment_offset,
    physical_block_size).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from strata import units
from strata.diagnose.case import Case
from strata.diagnose.evidence import differential, operational
from strata.diagnose.opinion import Opinion, Weight
from strata.diagnose.trying import measured
from strata.model.analysis import CellSummary
from strata.model.experiment import Metric
from strata.model.finding import Cause
from strata.model.survey import Device

CAUSE = Cause.MISALIGNED
PRECEDENCE = 22
BLOCK = 4096
SMALL = 8 * BLOCK
"""One block more is little of what is larger."""
SLOWER, GAINS = 0.75, 1.12
EXPERIMENT = "shifted"


def shift_of(case: Case) -> tuple[Device, int] | None:
    """The device that begins off the boundary and the bytes that would bring it back to one."""
    for device in case.analysis.devices:
        offset = begins(device)
        unit = max(BLOCK, device.physical_block or 0)
        if offset % unit:
            return device, unit - offset % unit
    return None


def begins(device: Device) -> int:
    """The byte of the device below at which it begins, as far as it is known."""
    told = device.detail.get("loop_offset", "")
    return device.partition_start or (int(told) if told.isdigit() else 0) or device.alignment_offset or 0


def judge(case: Case) -> Iterator[Opinion]:
    """At the lowest layer."""
    tried = next(iter(case.outcomes(EXPERIMENT)), None)
    station = case.stations[0] if case.stations else None
    fact = shift_of(case)
    if station is None:
        return
    gain = measured(tried, Metric.RATIO) if tried is not None else None
    if gain is not None and (gain.low or gain.value) < GAINS:
        yield Opinion(False, "shifted by one sector, the same workload gains nothing", layer=station.layer.name)
        return
    pair = slow_writes(case)
    if gain is None and fact is None:
        return
    seen = []
    if fact is not None:
        device, shift = fact
        text = (
            f"{device.path} starts at byte {begins(device)}, {units.size(shift)} before a block boundary of the medium"
        )
        seen.append(operational(text))
    if pair is not None:
        write, read = pair
        seen.append(
            differential(
                f"{write.workload.label} gives {units.count(write.iops.value)} IOPS, {read.workload.label} "
                f"gives {units.count(read.iops.value)}",
                pair,
            )
        )
    factor = gain.value if gain is not None else pair[1].iops.value / pair[0].iops.value if pair is not None else 1.0
    # A read touches one block more as well: what gains by a shift was slowed like it.
    slowed = [c for c in station.cells if c.workload.rw.writes or (gain is not None and c.workload.bs <= SMALL)]
    yield Opinion(
        holds=True if gain is not None else None,
        because="" if gain is not None else "a cost of the misalignment is not shown",
        title="requests are not aligned to the blocks of the medium",
        explanation="Each request touches one block more, and a write first reads two."
        + (f" Shifted by one sector it is {units.significant(factor, 2)} times as fast." if gain is not None else ""),
        next_step="Recreate the partition, LUN or virtual disk so that it starts at 1 MiB; small writes gain about "
        f"{units.significant(factor, 2)} times the IOPS.",
        cells=frozenset(c.workload.key for c in slowed),
        strength=1.0 if gain is not None else 0.5,
        lead=8.0 if gain is not None else 1.0,
        evidence=tuple(seen),
        missing=() if gain is not None else ("the same workload shifted by one sector",),
        weight=Weight.SHOWN,
        layer=station.layer.name,
        loss=math.log(max(factor, 1.0)) * max(1, len(slowed)) / len(station.cells),
    )


def slow_writes(case: Case) -> tuple[CellSummary, CellSummary] | None:
    """(random write, random read) of one layer, size and depth where the write is much slower; None where none is."""
    found = [
        (w, r)
        for station in case.without_server(case.stations[0])
        for w in station.cells
        for r in station.cells
        if w.workload.rw.writes
        and not w.workload.rw.reads
        and not r.workload.rw.writes
        and w.workload.rw.random
        and r.workload.rw.random
        and (w.workload.bs, w.workload.outstanding) == (r.workload.bs, r.workload.outstanding)
        and (w.iops.high or w.iops.value) < SLOWER * (r.iops.low or r.iops.value)
    ]
    return min(found, key=lambda pair: pair[0].iops.value / pair[1].iops.value, default=None)
