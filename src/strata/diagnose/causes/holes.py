"""Parts of the data were never written.

What it claims
    The file system answers reads of unwritten ranges (a hole, a preallocated extent) with zeros, without the medium.
Why it matters
    The figures are too good, and the more of the file is missing, the better they look. The first write changes them.
Evidence it needs
    Operational: for a file that is read unbuffered, the device read at least 3 % fewer bytes than the workload, and
    the same share in every random read; writes to the same file reach the device.
What rules it out
    As many bytes at the device as were requested, but for those that were under way where a round ended; a cache in
    use, which answers more the second time; next to nothing at the device, although the workloads write to the file.
What to do next
    Write the whole file once, from start to end (``strata`` does it with files of its own), then measure again.
How sure
    By how equal the share is over the workloads: the share of a cache depends on the workload, that of holes does not.
Example
    Half of the file punched out: 0.50 bytes read at the disk for each byte requested, at depths 1, 8 and 32.
Source
    The kernel's documentation of holes and unwritten extents (lseek(2) SEEK_HOLE;
    Documentation/filesystems/fiemap.rst).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from strata import units
from strata.diagnose.case import Case, Station
from strata.diagnose.causes.wrong_file import REACHED, moved
from strata.diagnose.evidence import differential, operational
from strata.diagnose.opinion import Opinion, Weight
from strata.model.analysis import CellSummary
from strata.model.endpoint import EndpointKind
from strata.model.finding import Cause

CAUSE = Cause.HOLES
PRECEDENCE = 6
SIDES = ("figures",)
LEAST_MISSING, LEAST_LEFT, ALIKE, LEAST_CELLS = 0.03, 0.02, 0.08, 2


def judge(case: Case) -> Iterator[Opinion]:
    """At files of this machine that were read unbuffered."""
    for station in case.stations:
        if station.layer.target.kind is not EndpointKind.FILE:
            continue
        reads = [c for c in station.cells if c.workload.direct and c.workload.rw.random and not c.workload.rw.writes]
        shares = [share for c in reads if (share := moved(c)) is not None]
        writes = [share for c in station.cells if c.workload.rw.writes and (share := moved(c)) is not None]
        if len(shares) < LEAST_CELLS or not writes or min(writes) < REACHED:
            continue
        most = max(moved(c, at_most=True) or 0.0 for c in reads)
        known = min((moved(c, at_most=True) or 0.0) * _known_to(c) for c in reads)
        if most >= LEAST_LEFT and max(most, known) <= 1 - LEAST_MISSING and max(shares) - min(shares) <= ALIKE:
            yield _opinion(station, [c.workload.key for c in reads], float(np.median(shares)))


def _known_to(cell: CellSummary) -> float:
    """At most so many times the bytes: those of all I/Os that were under way where a round ends may be missing."""
    return 1 + cell.workload.outstanding * cell.rounds / max(cell.ios, 1)


def _opinion(station: Station, keys: list[str], share: float) -> Opinion:
    name, missing = station.layer.name, units.percent(1 - share, 2)
    return Opinion(
        title=f"{missing} of the data was never written",
        explanation=f"The device read {units.significant(share, 2)} bytes for each byte requested, the same at every "
        f"depth: {name} answers the rest without the device.",
        next_step="Write the whole file once, from start to end, then measure again.",
        cells=frozenset(keys),
        strength=1.0,
        lead=6.0,
        evidence=(
            operational(
                f"{units.significant(share, 2)} bytes read at the device for each byte requested, in "
                f"{units.plural(len(keys), 'workload')} of unbuffered random reads",
                (f"{name}/{key}" for key in keys),
            ),
            differential("writes to the same file reach the device"),
        ),
        weight=Weight.SHOWN,
        layer=name,
        loss=-math.log(max(share, 0.01)),
    )
