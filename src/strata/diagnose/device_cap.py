"""A cap on requests at the lowest layer.

What it claims
    The device admits so many requests a second whatever their size and order: a limit that is set, not the medium's.
Why it matters
    Nothing above it is slow and the disk is well: it is changed by asking (a volume type, a throttle), not by tuning.
Evidence it needs
    Operational: at least three workloads of 8 outstanding requests or more, random and sequential, whose block sizes
    differ eightfold, give the same IOPS at the lowest layer within a quarter, and less than 0.8 of what one outstanding
    request gives for each of them.
What rules it out
    Different IOPS: a medium takes longer for larger blocks, and mostly for random ones.
What to do next
    Look for a limit of requests on the volume, the device or its control group; larger blocks carry more under it.
How sure
    It adds to what puts the limit into the medium; a medium with one service time for all sizes would look the same.
Example
    8 KiB at depth 8 and 32, random and sequential, and 128 KiB: 989 to 1 111 IOPS, at a cap of 1 000.
Source
    A cap shows as equal IOPS over sizes, a bandwidth as equal bytes (asymptotic bounds: Denning,
    Buzen 1978).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from strata import units
from strata.model.analysis import CellSummary
from strata.model.finding import Evidence, EvidenceKind

LEAST_OUTSTANDING, LEAST_CELLS, SIZES, SPREAD, SCALES = 8, 3, 8.0, 1.25, 0.8
NEXT_STEP = (
    "Look for a limit of requests per second set on the volume, the device or its control group; "
    "larger blocks carry more bytes under it."
)


def evidence(cells: Sequence[CellSummary]) -> Evidence | None:
    """From the closed-loop cells of the lowest layer; None where their IOPS differ."""
    deep = [c for c in cells if c.workload.outstanding >= LEAST_OUTSTANDING]
    sizes = [c.workload.bs_moments[0] for c in deep]
    rates = [c.iops.value for c in deep]
    if len(deep) < LEAST_CELLS or max(sizes) < SIZES * min(sizes) or max(rates) > SPREAD * min(rates):
        return None
    waits = [w for c in deep for one in cells if (w := _waits(c, one)) is not None]
    if not waits or not all(waits):
        return None
    if len({c.workload.rw.random for c in deep}) < 2:
        return None
    return Evidence(
        kind=EvidenceKind.OPERATIONAL,
        statement=f"{deep[0].layer} gives {units.span(units.count(min(rates)), units.count(max(rates)))} IOPS in all "
        f"{len(deep)} deep workloads, blocks of {units.size(min(sizes))} to {units.size(max(sizes))}, random and "
        f"sequential: as under a cap of {units.count(float(np.median(rates)))} requests a second",
        cells=tuple(f"{c.layer}/{c.workload.key}" for c in deep),
    )


def _waits(deep: CellSummary, one: CellSummary) -> bool | None:
    """Whether requests wait for each other: with nobody to wait for, depth would multiply the IOPS. None: no pair."""
    if one.workload.outstanding != 1 or deep.workload.apart_from_depth != one.workload.apart_from_depth:
        return None
    return deep.iops.value < SCALES * deep.workload.outstanding * one.iops.value
