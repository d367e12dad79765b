"""The medium is the limit, as expected.

What it claims
    No layer costs more than expected, and requests queue at the lowest layer.
Why it matters
    Everything above the medium is eliminated: only a faster medium, or fewer requests to it, makes this path faster.
Evidence it needs
    Differential: no layer above its allowance. Operational, one of: the lowest layer gives no more IOPS at a greater
    depth; as many requests are in flight at the device as the workload keeps outstanding; at least 85 % of a
    request's time on the top layer is spent in the lowest.
What rules it out
    A layer that costs more than expected; a queue elsewhere.
What to do next
    Nothing, unless the medium is slower than media of its kind should be: compare it with its specification or a peer.
How sure
    By how many of the three observations agree. It does not claim that the medium is healthy: that needs a
    specification, a peer or an earlier run.
Example
    Depth 8 and depth 32 both give 4 000 IOPS at the disk, and 0.99 of that on the share.
Source
    Microsoft, Cluster Shared Volume: a systematic approach to finding bottlenecks (if the disk is the bottleneck,
    latency and queue depth are equal at all layers).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from strata import units
from strata.diagnose.case import Case, Station
from strata.diagnose.causes import iops_cap
from strata.diagnose.evidence import differential, operational
from strata.diagnose.reference import healthy, held, known
from strata.model.analysis import Analysis, CellSummary
from strata.model.endpoint import EndpointKind
from strata.model.finding import Cause, Evidence
from strata.model.stack import Layer, Stack

CAUSE = Cause.MEDIUM
SIDES = ("full", "far")
RESIDENCE = 0.85
IN_FLIGHT = 0.8
GAIN = 1.25


def bottom(stack: Stack) -> Layer:
    """The first layer that stands on no other."""
    return next((layer for layer in stack.layers if not layer.on), stack.layers[0])


def top(stack: Stack) -> Layer:
    """The last layer that no other stands on."""
    under = {name for layer in stack.layers for name in layer.on}
    return next((layer for layer in reversed(stack.layers) if layer.name not in under), stack.layers[-1])


def capped(stack: Stack, analysis: Analysis) -> Evidence | None:
    """What looks like a cap on requests at the lowest layer, of which nothing is promised."""
    low = bottom(stack)
    return None if healthy(low.expect) is not None else iops_cap.by_shape(_cells(analysis, low.name))


def _cells(analysis: Analysis, layer: str) -> list[CellSummary]:
    return [c for c in analysis.cells if c.layer == layer and c.workload.saturates]


def saturated(cells: Sequence[CellSummary], tolerance: float) -> tuple[CellSummary, CellSummary] | None:
    """(shallower, deeper) of one pattern where at least twice the depth gave no more than a quarter more IOPS."""
    pairs = [
        (a, b)
        for a in cells
        for b in cells
        if b.workload.outstanding >= 2 * a.workload.outstanding
        and a.workload.outstanding > 1
        and a.workload.apart_from_depth == b.workload.apart_from_depth
        and b.iops.value < (GAIN + tolerance) * a.iops.value
    ]
    return max(pairs, key=lambda p: p[1].workload.outstanding, default=None)


def evidence(stack: Stack, analysis: Analysis) -> tuple[Evidence, ...]:
    """The operational observations that put the queue into the lowest layer."""
    low, high = bottom(stack), top(stack)
    lower, upper = _cells(analysis, low.name), _cells(analysis, high.name)
    found = []
    if (cap := capped(stack, analysis)) is not None:
        found.append(cap)
    full = saturated(lower, min(analysis.noise.tolerance, 0.15))
    if full is not None:
        shallow, deep = full
        found.append(
            operational(
                f"{low.name} gives {units.count(shallow.iops.value)} IOPS at {shallow.workload.shape} and "
                f"{units.count(deep.iops.value)} at {deep.workload.shape}: it is saturated",
                full,
            )
        )
    queued = [
        c
        for c in upper
        if c.device_in_flight is not None
        and c.workload.outstanding >= 4
        and c.device_in_flight >= IN_FLIGHT * c.workload.outstanding
    ]
    if queued:
        one = max(queued, key=lambda c: c.workload.outstanding)
        found.append(
            operational(
                f"{one.workload.label}: {units.significant(one.device_in_flight or 0, 2)} of "
                f"{one.workload.outstanding} requests are in flight at the device",
                [one],
            )
        )
    if low.name != high.name:
        by = {c.workload.key: c.mean_ns.value for c in lower}
        shares = [by[c.workload.key] / c.mean_ns.value for c in upper if c.workload.key in by and c.mean_ns.value > 0]
        share = float(np.median(shares)) if shares else 0.0
        if share >= RESIDENCE:
            found.append(
                operational(
                    f"{units.percent(min(share, 1.0), 2)} of a request's time on {high.name} is spent in "
                    f"{low.name} (median of {units.plural(len(shares), 'workload')})",
                    upper,
                )
            )
    return tuple(found)


def promised(case: Case) -> Evidence | None:
    """How the lowest layer stands to its specification; None where there is none, or too little of it was measured."""
    station = case.station(bottom(case.stack).name)
    if station is None or (should := known(case, station)) is None or not (cells := held(station, should)):
        return None
    low, high = (units.significant(math.exp(f(h.ratio_log for h in cells)), 2) for f in (min, max))
    return differential(
        f"{station.layer.name} gives {units.span(low, high)} times the IOPS of {should.source} in "
        f"{units.plural(len(cells), 'workload')}",
        [h.cell for h in cells],
    )


def full(station: Station, tolerance: float) -> CellSummary | None:
    """The deepest cell of which half the depth gives nearly as much; of a raw device a read. None where none is."""
    cells = [c for c in station.cells if c.workload.saturates]
    if station.layer.target.kind is EndpointKind.BLOCK:
        cells = [c for c in cells if not c.workload.rw.writes]
    found = saturated(cells, min(tolerance, 0.15))
    return None if found is None else found[1]
