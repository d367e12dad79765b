"""The layer alternates between fast and slow phases.

What it claims
    For a while each request takes a multiple of its usual time, then it is as fast as before, in every workload. The
    lowest layer that shows it is named.
Why it matters
    A short measurement sees one level or the other, and two measurements seem to differ by chance.
Evidence it needs
    Differential: two alternating levels in at least half of the layer's workloads, in phases of one length, also with
    one request at a time. Operational: the times of the requests form two groups that are as far apart.
What rules it out
    A load generator that itself waited for a CPU for as long; alternation in deep queues only (then one member
    of several may delay the others); nothing completed in the slow phases (then they are stalls); the same phases at a
    layer below; phases shorter than four fast requests (requests that started together end together).
What to do next
    Check the medium's background work: garbage collection, refresh, scrubbing, a rebuild, its temperature.
How sure
    By the share of the workloads that show it, and by how alike the phases are.
Example
    In every 400 ms reads take 3 times as long for 240 ms: 1 020 IOPS on average, 1 640 in the fast phases.
Source
    Garbage collection makes flash alternate between fast and slow (Jung, Kandemir 2013; Hao et al., FAST 2016).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from strata import units
from strata.diagnose import over_time, times
from strata.diagnose.case import Case
from strata.diagnose.evidence import differential, operational
from strata.diagnose.opinion import Opinion, Weight
from strata.diagnose.over_time import LayerEpisodes
from strata.model.finding import Cause, Evidence

CAUSE = Cause.SLOW_PHASES
PRECEDENCE = 16
SIDES = ("episodes",)
LEAST_LOST = 0.1
SAME, MOST = 0.6, 20.0
"""The rates lie as far apart as the times, or nearly; of slow members the times alone do. Beyond 20 either is noise."""
SPREAD = 1.5
"""Times the median, at least, that the slow requests take where one is asked for at a time."""


def judge(case: Case) -> Iterator[Opinion]:
    """At the lowest layer where they are seen."""
    for course in over_time.seen(case, "slow"):
        if course.lost >= LEAST_LOST:
            yield _opinion(course)


def _opinion(course: LayerEpisodes) -> Opinion:
    layer, factor = course.station.layer.name, units.significant(course.factor or 1.0, 2)
    length, share = units.duration(course.length_s * 1e9), units.percent(course.share, 2)
    period = course.period_s
    often = "" if period is None else f" about every {units.duration(period * 1e9)}"
    part = len(course.told) / len(course.looked)
    seen = tuple(_two_groups(course))
    return Opinion(
        holds=True if seen else None,
        because="" if seen else "the times of single requests do not fall into two groups",
        weight=Weight.SHOWN,
        title=f"{layer} is repeatedly {factor} times slower for {length}",
        explanation=f"{layer} alternates between fast and slow: {factor} times slower for {length}{often}, {share} "
        "of the time.",
        next_step="Check the medium's background work: garbage collection, refresh, scrubbing, a rebuild, its "
        f"temperature; without the slow phases it would give {1 / (1 - course.lost):.2g} times the IOPS.",
        cells=frozenset(c.workload.key for c, _ in course.told),
        strength=min(1.0, 0.5 + part / 2),
        lead=2.0 * len(course.told),
        evidence=(_turns(course), *seen),
        layer=layer,
        loss=-math.log(max(0.05, 1 - course.lost)),
    )


def _turns(course: LayerEpisodes) -> Evidence:
    return differential(
        f"{len(course.told)} of {len(course.looked)} workloads alternated between two rates, {course.count} "
        "slow phases in all",
        [c for c, _ in course.told],
    )


def _two_groups(course: LayerEpisodes) -> Iterator[Evidence]:
    """In the cell with the fewest outstanding: the slow requests beside the others."""
    cell, found = min(course.told, key=lambda one: one[0].workload.outstanding)
    quick, slow = times.at(cell, 10), times.at(cell, 99)
    if quick is None or slow is None or found.factor is None or slow < SPREAD * quick:
        return
    if course.factor is None or course.factor < SAME * min(slow / quick, MOST):
        return
    yield operational(
        f"{cell.workload.label}: requests take {units.duration(quick)} in the fast phases and up to "
        f"{units.duration(slow)} in the slow ones",
        [cell],
    )
