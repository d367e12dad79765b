"""Writes are as fast as a cache drains.

What it claims
    Writes go into a cache of the medium. They are fast while the cache has room. Once it is full, or where each write
    must be durable, they are as fast as the cache drains.
Why it matters
    A short measurement shows the cache, a long one the medium behind it: the same workload may look ten times faster
    in the short one.
Evidence it needs
    One of two. A cliff: within single measurements the write rate drops once and stays low, in half of the rounds. Or
    the drain itself: durable writes move the same bytes per second whatever their size (of one size, whatever the depth
    at which several share a flush), fewer than reads of that size, and the flush after them takes the larger part of
    their time.
What rules it out
    Reads that move no more bytes (then it is a cap, or the medium); a flush that takes the same time for all sizes or
    for all that share it; a drop to more than half in a single round.
What to do next
    Pace the writes at the drain rate, or size the cache for the burst; for a figure of the medium, write until the
    rate is steady (``--precondition``).
How sure
    By the depth of the cliff, or by how alike the bytes per second are; from the drain alone it is only suggested,
    until larger writes have moved the same bytes per second.
Example
    2 MiB are accepted at once, then 6 MB/s: 730 writes of 8 KiB per second, 46 of 128 KiB, where reads carry 179 MB/s.
Source
    Write caches of flash and their folding (Jung, Kandemir 2013); the kernel's documentation of volatile caches
    (Documentation/block/writeback_cache_control).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from strata import units
from strata.diagnose import flushing
from strata.diagnose.case import Case, Station
from strata.diagnose.evidence import differential, operational
from strata.diagnose.flushing import Flushed
from strata.diagnose.opinion import Opinion, Weight
from strata.model.analysis import CellSummary
from strata.model.finding import Cause
from strata.model.steadiness import Cliff

CAUSE = Cause.WRITE_CACHE_FULL
PRECEDENCE = 21
LESS_THAN_READS, LEAST_SHARE = 0.7, 0.4
LEAST_ROUNDS, DEEP = 2, 2.0
"""With the fall, over all cells: one alone may be somebody else's burst, unless it is as deep. A cache that is full
stays so: later rounds of a cell may begin below the cliff."""
NEXT_STEP = (
    "Size the cache for the burst, or pace the writes; for the figure of the medium itself, write until the rate is "
    "steady (--precondition 60s)."
)


def judge(case: Case) -> Iterator[Opinion]:
    """At the lowest layer whose writes show it: a cliff is shown, a drain is suggested."""
    for station in case.stations:
        cliffs = [(c, c.steadiness.cliff) for c in station.cells if c.steadiness is not None and c.steadiness.cliff]
        if cliffs and _sure([one for _, one in cliffs]):
            yield _cliff(case, station, cliffs)
            return
        if (drain := _drain(station)) is not None:
            yield _draining(case, station, *drain)
            return


def _sure(cliffs: list[Cliff]) -> bool:
    return sum(c.rounds for c in cliffs) >= LEAST_ROUNDS or max(c.before / c.after for c in cliffs) >= DEEP


def _cliff(case: Case, station: Station, cliffs: list[tuple[CellSummary, Cliff]]) -> Opinion:
    cell, one = max(cliffs, key=lambda c: c[1].before / c[1].after)
    device = (cell.carriers or cell.devices or (None,))[0]
    layer = flushing.lowest(case, station, device)
    falls = f"from {units.rate(one.before)} to {units.rate(one.after)}"
    return Opinion(
        weight=Weight.SHOWN,
        title=f"{layer} takes {units.size(round(one.written))} at once, then drains at {units.rate(one.after)}",
        explanation=f"After {units.size(round(one.written))} of writes the rate drops {falls} and stays low.",
        next_step=NEXT_STEP,
        cells=frozenset(c.workload.key for c, _ in cliffs),
        strength=min(1.0, 0.6 + 0.2 * len(cliffs)),
        lead=3.0 * len(cliffs),
        evidence=(
            differential(
                f"{cell.workload.label}: the rate drops {falls} within a measurement, in {one.rounds} rounds", [cell]
            ),
            operational(
                f"{units.size(round(one.written))} were written before the drop, in "
                f"{units.duration(one.at_s * 1e9)} and the ramp",
                [cell],
            ),
        ),
        layer=layer,
        loss=float(np.mean([math.log(c.before / c.after) for _, c in cliffs])) * len(cliffs) / len(station.cells),
    )


def _drain(station: Station) -> tuple[float, tuple[Flushed, ...], CellSummary] | None:
    """(bytes per second, the writes, the reads that carry more) where durable writes all move the same bytes."""
    cells = flushing.flushed(station)
    rate = flushing.by_bytes(cells)
    if rate is None or float(np.median([f.share for f in cells])) < LEAST_SHARE:
        return None
    sizes = {f.size for f in cells}
    reads = [
        c
        for c in station.cells
        if not c.workload.rw.writes and c.workload.saturates and c.workload.bs_moments[0] in sizes
    ]
    more = max(reads, key=lambda c: c.bytes_per_second.value, default=None)
    if more is None or rate > LESS_THAN_READS * more.bytes_per_second.value:
        return None
    return rate, cells, more


def drain_rate(case: Case, opinion: Opinion) -> float | None:
    """Bytes per second at which the layer that is blamed drains; None where a fall within a measurement showed it."""
    for station in case.stations:
        drain = _drain(station)
        if drain is not None and flushing.lowest(case, station, drain[1][0].device) == opinion.layer:
            return drain[0] if opinion.weight is Weight.SUGGESTED else None
    return None


def _draining(case: Case, station: Station, rate: float, cells: tuple[Flushed, ...], read: CellSummary) -> Opinion:
    layer = flushing.lowest(case, station, cells[0].device)
    one, *more = (units.size(round(s)) for s in sorted({f.size for f in cells}))
    sizes, whatever = (units.span(one, more[-1]), "size") if more else (one, "depth")
    slow = [f for f in cells if f.share >= LEAST_SHARE]
    return Opinion(
        title=f"writes go as fast as {layer} drains: {units.rate(rate)}",
        explanation=f"Durable writes move {units.rate(rate)} whatever their {whatever} ({sizes}), and they wait for "
        "the flush: a cache in front of the medium drains at that rate.",
        next_step=NEXT_STEP,
        cells=frozenset(f.cell.workload.key for f in slow),
        strength=0.9,
        lead=4.0,
        evidence=(
            differential(
                f"writes of {sizes} move {units.rate(rate)}, {read.workload.label} moves "
                f"{units.rate(read.bytes_per_second.value)}",
                [f.cell for f in cells],
            ),
            operational(
                f"the flush takes {units.percent(float(np.median([f.share for f in cells])), 2)} of a "
                "write's time (median), and its time grows with the bytes before it",
                [f.cell for f in slow],
            ),
        ),
        layer=layer,
        loss=sum(-math.log(max(0.02, 1 - f.share)) for f in slow) / len(station.cells),
    )
