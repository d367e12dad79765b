"""A cache is cold, or too small for what is read.

What it claims
    A cache of the device answers only some of the reads; the others go to the medium and take many times as long.
Why it matters
    The medium is as fast as ever. What decides is how much of the data the cache holds, and whether it is warm yet.
Evidence it needs
    Operational: one at a time, the times of reads fall into two groups thirty times apart, and the quick one has less
    than 60 % of them. Differential: the share of quick ones is what is left of a workload that was, or could be, warm;
    it grows from round to round while the cache warms up.
What rules it out
    One group of times (then there is no cache, or it answers all or nothing); groups that lie near each other (members
    of one kind).
What to do next
    Let it warm up, or measure longer; then give it more memory, or read less at random.
How sure
    Never beyond what is suggested without an earlier run: that it was warm before is not seen.
Example
    12 % of the reads take 0.06 ms, the others 3.2: the cache holds an eighth of the file.
Source
    Hit share and working set (Denning 1968); the time of a read is the mean of both weighted by the share.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from strata import units
from strata.diagnose import groups
from strata.diagnose.case import Case
from strata.diagnose.opinion import Opinion
from strata.diagnose.reference import grounds, healthy, held, known
from strata.model.finding import Cause, Evidence, EvidenceKind

CAUSE = Cause.COLD_CACHE
PRECEDENCE = 19
MOST_HITS, GAIN = 0.6, 0.2


def judge(case: Case) -> Iterator[Opinion]:
    """Of the lowest layers of which no time is promised: a promise is of the medium, not of its cache."""
    for station in grounds(case):
        stated = healthy(station.layer.expect)
        two = groups.cached(station)
        if two is None or (stated is not None and stated.latency is not None) or 1 - two.share >= MOST_HITS:
            continue
        layer, hits = station.layer.name, units.percent(1 - two.share, 2)
        quick, slow = units.duration(two.quick * 1e9), units.duration(two.slow * 1e9)
        warm = any(h.ratio_log < -GAIN for h in held(station, known(case, station)))
        now = two.share * two.slow + (1 - two.share) * two.quick
        yield Opinion(
            cause=CAUSE,
            holds=True,
            because="",
            title=f"a cache answers only {hits} of the reads of {layer}",
            explanation=f"{hits} of the reads take {quick}, the others {slow}: most of what is read is not in the "
            "cache.",
            next_step="Let it warm up and measure again; then give the cache more room, or read less at random: with "
            f"all of it in the cache a read would take {quick}.",
            cells=frozenset({two.cell.workload.key}),
            strength=0.7,
            lead=2.0,
            evidence=(
                Evidence(
                    kind=EvidenceKind.OPERATIONAL,
                    statement=f"{two.cell.workload.label}: {hits} of the reads take {quick}, the others {slow}",
                    cells=(f"{layer}/{two.cell.workload.key}",),
                ),
                Evidence(
                    kind=EvidenceKind.DIFFERENTIAL,
                    statement=f"a read takes {units.duration(now * 1e9)} on average, "
                    f"{units.significant(now / two.quick, 2)} times what it takes from the cache",
                    cells=(f"{layer}/{two.cell.workload.key}",),
                ),
            ),
            missing=() if warm else ("an earlier run in which the cache was warm",),
            layer=layer,
            loss=math.log(now / two.quick),
        )
