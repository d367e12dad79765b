"""A cache answers, and the figures are not those of the medium.

What it claims
    A cache of the device answers most reads of the lowest layer, or a cache in front of the device most reads of a
    file: the figures are those of the cache.
Why it matters
    The measured data fits into the cache, the user's data does not. Production will not reach these figures.
Evidence it needs
    Differential: the layer gives at least 1.5 times the specified IOPS in most of its workloads. Operational: with
    one request at a time, most reads take a small part of the specified time; or, without a specification, the times
    form two groups thirty times apart, and the fast group has most of them. Or, operational: in most workloads of
    unbuffered reads of a file its device read less than half of the bytes.
What rules it out
    Times as specified; a file that is larger than any cache on the way; the same share at the device in every random
    read (then parts of the file were never written), unless writes reach the device and next to no read does; writes
    that do not reach the device either (then it is another file, or data that is compressed or stored once).
What to do next
    Measure a file several times as large as the cache (``--size``), or read it back cold.
How sure
    By how far the figures are above the specification; less where only the two groups show it, or where one request at
    a time gains much less than many (a burst above a limit, or a specification that is too low, looks like that).
Example
    8 KiB reads take 0.06 ms where 3.2 ms are specified, and 64 MiB were measured.
Source
    Storage test specifications ask for a working set well beyond every cache (SNIA Solid State Storage Performance
    Test Specification).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from strata import units
from strata.analyse.laws import cache
from strata.diagnose import groups, times
from strata.diagnose.case import Case, Station
from strata.diagnose.causes import holes, wrong_file
from strata.diagnose.causes.wrong_file import carriers, moved
from strata.diagnose.evidence import differential, operational
from strata.diagnose.groups import Groups
from strata.diagnose.opinion import Opinion, Weight
from strata.diagnose.reference import ReferenceComparison, grounds, healthy, held
from strata.model.analysis import CellSummary
from strata.model.endpoint import EndpointKind
from strata.model.finding import Cause, Evidence

CAUSE = Cause.CACHE_FLATTERS
PRECEDENCE = 17
SIDES = ("figures",)
REACHED = 0.5
"""Bytes that the device read for each byte requested: below it most reads were answered in front of it."""
FASTER, MOST_OF, MOST_HITS = 1.5, 0.5, 0.6
LEAST_ALONE = 0.5
"""Of what many at once gain, on logs, is gained by one: a cache makes each request quick, and a burst allows more."""
NEXT_STEP = "Measure a file several times as large as the cache (--size), or read it back cold; then judge the medium."


def judge(case: Case) -> Iterator[Opinion]:
    """Of the lowest layers, and of files whose reads do not reach their device."""
    yield from _before_the_device(case)
    for station in grounds(case):
        cells = held(station, healthy(station.layer.expect))
        above = [h for h in cells if h.ratio_log >= math.log(FASTER)]
        two = groups.cached(station)
        if len(above) > MOST_OF * len(cells):
            yield _beyond(station, above, len(cells), two)
        elif not cells and two is not None and 1 - two.share >= MOST_HITS:
            yield _by_groups(station, two)


def _before_the_device(case: Case) -> Iterator[Opinion]:
    known = {o.layer for rule in (holes, wrong_file) for o in rule.judge(case)}
    # Only where the law says so, too: of data on several devices one alone may be seen.
    broken = {c.layer for c in case.analysis.checks if c.impossible and c.kind == cache.NAME}
    for station in case.stations:
        layer = station.layer
        if layer.target.kind is not EndpointKind.FILE or layer.name not in broken - known:
            continue
        reads = [c for c in station.cells if c.workload.direct and not c.workload.rw.writes]
        seen = [(c, share) for c in reads if (share := moved(c, at_most=True)) is not None]
        few = [(c, share) for c, share in seen if share < REACHED]
        if len(few) > MOST_OF * len(seen) and not _otherwise(station, seen):
            yield _unread(station, few, len(seen))


def _otherwise(station: Station, seen: list[tuple[CellSummary, float]]) -> bool:
    """Whether something else than a cache keeps reads from the device, or may do so."""
    writes = [share for c in station.cells if c.workload.rw.writes and (share := moved(c)) is not None]
    if writes:
        return min(writes) < REACHED
    random = [share for c, share in seen if c.workload.rw.random]
    # Nothing was written by which a hole could be told.
    return len(random) < holes.LEAST_CELLS or max(random) - min(random) <= holes.ALIKE


def _unread(station: Station, few: list[tuple[CellSummary, float]], of: int) -> Opinion:
    layer, cells = station.layer.name, [c for c, _ in few]
    device, most = " and ".join(carriers(cells[0])), max(share for _, share in few)
    hits, read = units.percent(1 - most, 2), units.significant(most, 2)
    writes = [c for c in station.cells if c.workload.rw.writes and (moved(c) or 0.0) >= REACHED]
    where = f" in {len(few)} of {of} workloads" if len(few) < of else ""
    arrived = [differential(f"writes to the same file reach {device}", writes)] if writes else []
    return Opinion(
        weight=Weight.SHOWN,
        title=f"a cache in front of {device} answers at least {hits} of the reads of {layer}{where}",
        explanation=f"In {len(few)} of {of} workloads of unbuffered reads {device} read at most {read} bytes for each "
        "byte requested: the figures are those of a cache on the way to it.",
        next_step=NEXT_STEP,
        cells=frozenset(c.workload.key for c in cells),
        strength=len(few) / of,
        lead=4.0 * len(few),
        evidence=(
            operational(f"{device} read at most {read} bytes for each byte requested, unbuffered", cells),
            *arrived,
        ),
        layer=layer,
        loss=-math.log(max(most, 0.01)),
    )


def _beyond(station: Station, above: list[ReferenceComparison], of: int, two: Groups | None) -> Opinion:
    layer, most = station.layer.name, max(above, key=lambda h: h.ratio_log)
    times = units.significant(math.exp(most.ratio_log), 2)
    deep = float(np.median([h.ratio_log for h in above if h.depth > 1] or [0.0]))
    alone = [_quick(layer, h) for h in above if h.depth == 1 and h.ratio_log >= LEAST_ALONE * deep]
    hits = f" The cache answers about {units.percent(1 - two.share, 2)} of the reads." if two else ""
    return Opinion(
        weight=Weight.SHOWN,
        title=f"a cache of {layer} answers: up to {times} times the medium's specification",
        explanation=f"{layer} is faster than its medium can be: {most.cell.workload.label} gives "
        f"{units.count(most.measured)} IOPS, specified are {units.count(most.promised)}.{hits}",
        next_step=NEXT_STEP,
        cells=frozenset(h.key for h in above),
        strength=min(1.0, 0.5 + len(above) / (2 * of)),
        lead=4.0 * len(above),
        evidence=(
            differential(
                f"{len(above)} of {of} workloads give at least {FASTER:g} times the specified IOPS",
                [h.cell for h in above],
            ),
            *alone,
        ),
        layer=layer,
        loss=float(np.mean([h.ratio_log for h in above])),
    )


def _quick(layer: str, one: ReferenceComparison) -> Evidence:
    middle = times.at(one.cell, 50) or one.cell.mean_ns.value
    return operational(
        f"{one.cell.workload.label}: half of the reads take {units.duration(middle)} or less, specified "
        f"are {units.duration(1e9 / one.promised)}",
        [one.cell],
    )


def _by_groups(station: Station, two: Groups) -> Opinion:
    layer, hits = station.layer.name, units.percent(1 - two.share, 2)
    quick, slow = units.duration(two.quick * 1e9), units.duration(two.slow * 1e9)
    seen = f"{hits} of the reads take {quick}, the others {slow}"
    return Opinion(
        title=f"a cache answers {hits} of the reads of {layer}",
        explanation=f"{seen}: the figures are mostly those of the cache.",
        next_step=NEXT_STEP,
        cells=frozenset({two.cell.workload.key}),
        strength=0.7,
        lead=2.0,
        evidence=(operational(f"{two.cell.workload.label}: {seen}", [two.cell]),),
        missing=("expect.latency of the layer, or a file larger than the cache",),
        layer=layer,
        loss=0.1,
    )
