"""A cache answers, and the figures are not the medium's.

What it claims
    Most reads of the lowest layer are answered by a cache of the device: the figures are the cache's.
Why it matters
    The data that is measured fits into the cache, the user's does not: what is promised by these figures will not come.
Evidence it needs
    Differential: the layer gives at least 1.5 times what its specification promises, in most of its workloads.
    Operational: one at a time, most reads take a small part of the promised time; or, where nothing is promised, the
    times fall into two groups thirty times apart, and the quick one has most of them.
What rules it out
    Times as promised; a file that is larger than any cache there.
What to do next
    Measure a file several times as large as the cache (``--size``), or read it back cold.
How sure
    By how far the figures lie above the promise; of two groups alone less.
Example
    8 KiB reads take 0.06 ms where 3.2 are specified, and 64 MiB were measured.
Source
    Rules of measuring storage ask for a working set well beyond every cache (SNIA Solid State Storage Performance Test
    Specification).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from strata import units
from strata.diagnose import groups, times
from strata.diagnose.case import Case, Station
from strata.diagnose.groups import Groups
from strata.diagnose.opinion import Opinion, Weight
from strata.diagnose.reference import Held, grounds, healthy, held
from strata.model.finding import Cause, Evidence, EvidenceKind

CAUSE = Cause.CACHE_FLATTERS
PRECEDENCE = 17
FASTER, MOST_OF, MOST_HITS = 1.5, 0.5, 0.6
NEXT_STEP = "Measure a file several times as large as the cache (--size), or read it back cold; then judge the medium."


def judge(case: Case) -> Iterator[Opinion]:
    """Of the lowest layers."""
    for station in grounds(case):
        cells = held(station, healthy(station.layer.expect))
        above = [h for h in cells if h.ratio_log >= math.log(FASTER)]
        two = groups.cached(station)
        if len(above) > MOST_OF * len(cells):
            yield _beyond(station, above, len(cells), two)
        elif not cells and two is not None and 1 - two.share >= MOST_HITS:
            yield _by_groups(station, two)


def _beyond(station: Station, above: list[Held], of: int, two: Groups | None) -> Opinion:
    layer, most = station.layer.name, max(above, key=lambda h: h.ratio_log)
    times = units.significant(math.exp(most.ratio_log), 2)
    alone = [_quick(layer, h) for h in above if h.depth == 1]
    hits = f" About {units.percent(1 - two.share, 2)} of the reads are answered by it." if two else ""
    return Opinion(
        cause=CAUSE,
        holds=True,
        because="",
        weight=Weight.SHOWN,
        title=f"a cache of {layer} answers: up to {times} times what the medium promises",
        explanation=f"{layer} gives more than its medium can: {most.cell.workload.label} {units.count(most.measured)} "
        f"IOPS, where {units.count(most.promised)} are promised.{hits}",
        next_step=NEXT_STEP,
        cells=frozenset(h.key for h in above),
        strength=min(1.0, 0.5 + len(above) / (2 * of)),
        lead=4.0 * len(above),
        evidence=(
            Evidence(
                kind=EvidenceKind.DIFFERENTIAL,
                statement=f"{len(above)} of {of} workloads give at least {FASTER:g} times what the specification "
                "promises",
                cells=tuple(f"{layer}/{h.key}" for h in above),
            ),
            *alone,
        ),
        layer=layer,
        loss=float(np.mean([h.ratio_log for h in above])),
    )


def _quick(layer: str, one: Held) -> Evidence:
    middle = times.at(one.cell, 50) or one.cell.mean_ns.value
    return Evidence(
        kind=EvidenceKind.OPERATIONAL,
        statement=f"{one.cell.workload.label}: half of the reads take {units.duration(middle)} or less, where "
        f"{units.duration(1e9 / one.promised)} are promised",
        cells=(f"{layer}/{one.key}",),
    )


def _by_groups(station: Station, two: Groups) -> Opinion:
    layer, hits = station.layer.name, units.percent(1 - two.share, 2)
    quick, slow = units.duration(two.quick * 1e9), units.duration(two.slow * 1e9)
    seen = f"{hits} of the reads take {quick}, the others {slow}"
    return Opinion(
        cause=CAUSE,
        holds=True,
        because="",
        title=f"a cache answers {hits} of the reads of {layer}",
        explanation=f"{seen}: what is measured is mostly the cache.",
        next_step=NEXT_STEP,
        cells=frozenset({two.cell.workload.key}),
        strength=0.7,
        lead=2.0,
        evidence=(
            Evidence(
                kind=EvidenceKind.OPERATIONAL,
                statement=f"{two.cell.workload.label}: {seen}",
                cells=(f"{layer}/{two.cell.workload.key}",),
            ),
        ),
        missing=("expect.latency of the layer, or a file larger than the cache",),
        layer=layer,
        loss=0.1,
    )
