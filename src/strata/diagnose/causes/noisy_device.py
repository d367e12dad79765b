"""Somebody else uses the device.

What it claims
    The device that the lowest layer reaches does more than was asked of it, and its queue holds requests of others.
Why it matters
    The medium is well and looks slow; tuning it, or replacing it, changes nothing while the neighbour stays.
Evidence it needs
    Operational: while reads that pass the page cache are measured, the device moves at least 15 % more bytes than they
    do, and has at least 15 % more requests under way than they keep outstanding. Differential: those cells beside what
    was asked for; the same device was in use while nothing of Strata's ran, where that was looked at.
What rules it out
    As many bytes as were asked for (requests that are cut are more, and move no more); no more under way than the
    workload keeps; counters of the device that could not be read.
What to do next
    Find who it is (``iotop``, ``/proc/PID/io``, the other hosts of a shared volume), and move it or give it a share.
How sure
    By the share of the device's bytes that is somebody else's and by how many workloads show it.
Example
    At depth 8 the device has 14 requests under way and does 1 640 reads a second, of which 940 were asked for.
Source
    Little's law: no more can be under way than is outstanding; the kernel's documentation of the block statistics
    (Documentation/block/stat).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from strata import units
from strata.diagnose import neighbours
from strata.diagnose.case import Case
from strata.diagnose.neighbours import Neighbour
from strata.diagnose.opinion import Opinion, Weight
from strata.model.finding import Cause, Evidence, EvidenceKind

CAUSE = Cause.NOISY_DEVICE
PRECEDENCE = 18


def judge(case: Case) -> Iterator[Opinion]:
    """At the lowest layer whose device shows one."""
    blamed: set[str] = set()
    for station in case.stations:
        under = {one.name for one in case.stack.stands_on(station.layer)}
        found = neighbours.on(case, station)
        if found is None:
            continue
        if not under & blamed:
            yield _opinion(found)
        blamed.add(station.layer.name)


def _opinion(found: Neighbour) -> Opinion:
    layer, device = found.station.layer.name, found.cells[0].device
    requests, share = units.count(found.requests), units.percent(found.share, 2)
    return Opinion(
        cause=CAUSE,
        holds=True,
        because="",
        weight=Weight.SHOWN,
        title=f"somebody else uses {device}: {share} of its bytes",
        explanation=f"{device} does {requests} requests a second that were not asked for, {share} of its bytes, and "
        f"they wait in the same queue as those of {layer}.",
        next_step="Find who it is (iotop, /proc/PID/io, the other hosts of a shared volume) and move it, or give it a "
        f"share (io.weight, io.max); alone {layer} would have up to {1 / (1 - found.share):.2g} times as much.",
        cells=frozenset(f.cell.workload.key for f in found.cells),
        strength=min(1.0, 0.5 + len(found.cells) / (2 * found.looked)),
        lead=2.0 * len(found.cells),
        evidence=(*_differential(found), _under_way(found)),
        layer=layer,
        loss=float(np.mean([-math.log(1 - f.share) for f in found.cells])),
    )


def _under_way(found: Neighbour) -> Evidence:
    most = max(found.cells, key=lambda f: f.in_flight / f.cell.workload.outstanding)
    return Evidence(
        kind=EvidenceKind.OPERATIONAL,
        statement=f"{most.cell.workload.label}: {units.significant(most.in_flight, 2)} requests are under way at "
        f"{most.device} where {most.cell.workload.outstanding} are outstanding",
        cells=tuple(f"{f.cell.layer}/{f.cell.workload.key}" for f in found.cells),
    )


def _differential(found: Neighbour) -> Iterator[Evidence]:
    most = max(found.cells, key=lambda f: f.share)
    asked = most.cell.bytes_per_second.value
    idle = "" if found.idle is None else f"; it did {units.count(found.idle)} a second while nothing of ours ran"
    yield Evidence(
        kind=EvidenceKind.DIFFERENTIAL,
        statement=f"{most.cell.workload.label}: {most.device} moves {units.rate(asked + most.bytes_per_s)} where "
        f"{units.rate(asked)} were asked for{idle}",
        cells=(f"{most.cell.layer}/{most.cell.workload.key}",),
    )
