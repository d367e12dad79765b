"""Another user of the device.

What it claims
    The device of the lowest layer does more than the workload asks for, and requests of others are in its queue.
Why it matters
    The medium is healthy but looks slow. Tuning or replacing it changes nothing while the other user stays.
Evidence it needs
    Operational: while reads that bypass the page cache are measured, the device moves at least 15 % more bytes than
    the workload, and has at least 15 % more requests in flight than it keeps outstanding. Differential: those cells
    compared with the request rate of the workload; the same device was in use while Strata issued nothing, where that
    was recorded.
What rules it out
    As many bytes as were requested (split requests are more in number, but move no more bytes); no more in flight
    than the workload keeps outstanding; counters of the device that could not be read.
What to do next
    Find the other user (``iotop``, ``/proc/PID/io``, the other hosts of a shared volume), and move it or limit it.
How sure
    By the other user's share of the device's bytes, and by how many workloads show it.
Example
    At depth 8 the device has 14 requests in flight and serves 1 640 reads per second, of which the workload requested
    940.
Source
    Little's law: no more can be in flight than is outstanding; the kernel's documentation of the block statistics
    (Documentation/block/stat).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from strata import units
from strata.diagnose import neighbours
from strata.diagnose.case import Case
from strata.diagnose.evidence import differential, operational
from strata.diagnose.neighbours import Neighbour
from strata.diagnose.opinion import Opinion, Weight
from strata.model.finding import Cause, Evidence

CAUSE = Cause.NOISY_DEVICE
PRECEDENCE = 18
SIDES = ("far",)


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
        weight=Weight.SHOWN,
        title=f"another user of {device} moves {share} of its bytes",
        explanation=f"{device} serves {requests} requests per second from elsewhere, {share} of its bytes, and they "
        f"wait in the same queue as those of {layer}.",
        next_step="Find the other user (iotop, /proc/PID/io, the other hosts of a shared volume) and move it, or "
        f"limit it (io.weight, io.max); alone, {layer} would get up to {1 / (1 - found.share):.2g} times the IOPS.",
        cells=frozenset(f.cell.workload.key for f in found.cells),
        strength=min(1.0, 0.5 + len(found.cells) / (2 * found.looked)),
        lead=2.0 * len(found.cells),
        evidence=(*_differential(found), _under_way(found)),
        layer=layer,
        loss=float(np.mean([-math.log(1 - f.share) for f in found.cells])),
    )


def _under_way(found: Neighbour) -> Evidence:
    most = max(found.cells, key=lambda f: f.in_flight / f.cell.workload.outstanding)
    return operational(
        f"{most.cell.workload.label}: {units.significant(most.in_flight, 2)} requests are in flight at "
        f"{most.device}, the workload keeps {most.cell.workload.outstanding} outstanding",
        [f.cell for f in found.cells],
    )


def _differential(found: Neighbour) -> Iterator[Evidence]:
    most = max(found.cells, key=lambda f: f.share)
    asked = most.cell.bytes_per_second.value
    idle = "" if found.idle is None else f"; it served {units.count(found.idle)} per second while Strata issued nothing"
    yield differential(
        f"{most.cell.workload.label}: {most.device} moves {units.rate(asked + most.bytes_per_s)}, the "
        f"workload requested {units.rate(asked)}{idle}",
        [most.cell],
    )
