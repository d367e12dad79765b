"""A cache is cold, or too small for the data that is read.

What it claims
    A cache of the device answers only some of the reads; the others go to the medium and take many times as long.
Why it matters
    The medium is as fast as ever. The speed depends on how much of the data the cache holds, and on whether it is
    warm.
Evidence it needs
    From an earlier run: most reads take at least 1.5 times as long as then, those one at a time included, and the
    worst four times; durable writes that go to the medium itself surely do not fall as far. Or, operational: with one
    request at a time, the times of reads form two groups thirty times apart, and the fast group has less than 60 % of
    them. Or, over time: the read that was measured first runs at the rate of the medium's durable writes and becomes at
    least four times as fast within its first round; no later round of it falls back.
    Differential: the share of fast reads is what is left of a workload that was, or could be, warm; it grows from
    round to round while the cache warms up. Of reads that ask for all of the data alike, the share that the cache
    answers (hit share) is the share of the data (working set) that it holds.
What rules it out
    One group of times (then there is no cache, or it answers all or nothing); groups that are close together (members
    of one kind). Of reads that are slow at first: writes that are slow at first as well; slow reads in a later round
    of the same workload; slow reads that are not as even as the medium's writes, or not as fast.
What to do next
    Let the cache warm up, or measure longer; then give it more memory, or read less at random.
How sure
    By the earlier run, and by how many of its reads and writes show it. Without an earlier run never more than
    suggested: that the cache was warm before has not been observed.
Example
    12 % of the reads take 0.06 ms, the others 3.2 ms: the cache holds an eighth of the file.
Source
    Hit ratio and working set (Denning 1968); the mean time of a read is the weighted mean of both groups.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import median

from strata import units
from strata.analyse.overall import standard_error
from strata.diagnose import groups, warming
from strata.diagnose.case import Case, Station
from strata.diagnose.evidence import differential, operational
from strata.diagnose.opinion import Opinion, Weight
from strata.diagnose.reference import grounds, healthy, held, known
from strata.diagnose.warming import WarmUp
from strata.model.analysis import CellSummary
from strata.model.finding import Cause
from strata.model.reference import Reference, ReferenceSource

CAUSE = Cause.COLD_CACHE
PRECEDENCE = 19
SIDES = ("far",)
MOST_HITS, GAIN = 0.6, 0.2
LOST, SLOWER, AS_BEFORE = 4.0, 1.5, 1.25
"""Times as long as in the earlier run: the worst of the reads that a cache answered then, most of them (while it warms
up), and at most a durable write, which no cache of reads answers."""
AGREES = 1.5
"""Times the earlier run's rate, up or down, that the same read has in the rounds after the cache was warm."""
BY_THE_MEDIUM = 0.5
"""Times a read, now: a durable write that is quicker ends in a cache that survives a loss of power, and tells nothing
of the medium."""


def judge(case: Case) -> Iterator[Opinion]:
    """Of the lowest layers of which no time is promised: a promise is of the medium, not of its cache."""
    for station in grounds(case):
        if (found := lost(case, station)) is not None:
            yield found
            continue
        if (seen := warming.warmed_up(case, station)) is not None:
            yield _warmed(case, station, seen)
            continue
        stated = healthy(station.layer.expect)
        two = groups.cached(station)
        if two is None or (stated is not None and stated.latency is not None) or 1 - two.share >= MOST_HITS:
            continue
        layer, hits = station.layer.name, units.percent(1 - two.share, 2)
        quick, slow = units.duration(two.quick * 1e9), units.duration(two.slow * 1e9)
        warm = any(h.ratio_log < -GAIN for h in held(station, known(case, station)))
        now = two.share * two.slow + (1 - two.share) * two.quick
        held_of, room = _room(case, two.cell, 1 - two.share)
        yield Opinion(
            title=f"a cache answers only {hits} of the reads of {layer}",
            explanation=f"{hits} of the reads take {quick}, the others {slow}: most of the data read is not in the "
            f"cache.{held_of}",
            next_step=f"Let the cache warm up and measure again; then give it more room{room}, or read less at random: "
            f"with all of the data in the cache a read would take {quick}.",
            cells=frozenset({two.cell.workload.key}),
            strength=0.7,
            lead=2.0,
            evidence=(
                operational(
                    f"{two.cell.workload.label}: {hits} of the reads take {quick}, the others {slow}", [two.cell]
                ),
                differential(
                    f"a read takes {units.duration(now * 1e9)} on average, "
                    f"{units.significant(now / two.quick, 2)} times its time from the cache",
                    [two.cell],
                ),
            ),
            missing=() if warm else ("an earlier run in which the cache was warm",),
            layer=layer,
            loss=math.log(now / two.quick),
        )


def _room(case: Case, cell: CellSummary, hits: float) -> tuple[str, str]:
    """How much of the working set the cache holds, and how much it would have to: of reads that ask for all of it alike
    the share that it answers is the share that it holds."""
    whole = case.analysis.working_set(cell.workload)
    if whole is None:
        return "", ""
    size = units.size(whole)
    return f" The working set is {size}, of which the cache holds about {units.size(hits * whole)}.", f" (for {size})"


def _of_all(case: Case, station: Station, key: str) -> str:
    cell = station.cell(key)
    whole = None if cell is None else case.analysis.working_set(cell.workload)
    return "" if whole is None else f" ({units.size(whole)})"


def lost(case: Case, station: Station) -> Opinion | None:
    """What an earlier run says of the layer, None where it says nothing.

    What was read quickly then is read slowly now, and the medium writes as it did.
    """
    layer = station.layer.name
    reads = [_since(r, c) for c in station.cells if not c.workload.rw.writes and (r := _then(case, layer, c))]
    slower = [r for r in reads if r.slower and r.ratio.value * SLOWER <= 1]
    # Who asks for one at a time misses the cache as well; a queue that became shorter he does not feel.
    alone = {c.workload.key for c in station.cells if c.workload.outstanding == 1}
    felt = {r.workload_key for r in slower} >= {r.workload_key for r in reads} & alone
    if not felt or 2 * len(slower) <= len(reads) or min(r.ratio.value for r in slower) * LOST > 1:
        return None
    writes = [_since(r, c) for c in _by_the_medium(case, station) if (r := _then(case, c.layer, c))]
    usual = median(r.ratio.high or math.inf for r in slower)
    if not writes or any(r.ratio.value * AS_BEFORE < 1 or (r.ratio.low or 0.0) <= usual for r in writes):
        return None
    worst = min(slower, key=lambda r: r.ratio.value)
    times, then = units.significant(1 / worst.ratio.value, 2), units.count(worst.iops.value)
    return Opinion(
        title=f"the cache that answered the reads of {layer} is cold",
        explanation=f"Reads take up to {times} times as long as in the earlier run, durable writes take as long as "
        "before: the medium is unchanged, and a cache in front of it no longer holds the data.",
        next_step="Let the cache warm up and measure again; if it stays slow, look for what took the cache's memory "
        f"or emptied it: with all of the data in the cache{_of_all(case, station, worst.workload_key)} "
        f"{worst.workload_key} gave {then} IOPS.",
        cells=frozenset(r.workload_key for r in slower),
        weight=Weight.SHOWN,
        strength=0.9,
        lead=2.0 * len(slower),
        evidence=(
            operational(
                f"{len(slower)} of {len(reads)} read workloads give less than "
                f"{units.percent(1 / SLOWER, 2)} of the earlier run's IOPS, {worst.workload_key} the least: "
                f"{units.percent(worst.ratio.value, 2)}",
                (f"{layer}/{r.workload_key}" for r in slower),
            ),
            differential(
                f"durable writes give at least {units.percent(min(r.ratio.value for r in writes), 2)} of "
                f"the earlier run's IOPS, in {units.plural(len(writes), 'workload')}",
                (f"{r.layer}/{r.workload_key}" for r in writes),
            ),
        ),
        layer=layer,
        loss=sum(-math.log(r.ratio.value) for r in slower) / len(station.cells),
    )


def _since(then: Reference, now: CellSummary) -> Reference:
    """The same, as surely as the rounds of both runs tell. What whole runs differ by is left out: it is in reads and
    writes alike, and these are held against each other."""
    error, at = math.hypot(standard_error(then.iops), standard_error(now.iops)), then.ratio.value
    known = math.isfinite(error)
    ends = {"low": at * math.exp(-2 * error) if known else None, "high": at * math.exp(2 * error) if known else None}
    return then.model_copy(update={"ratio": then.ratio.model_copy(update=ends)})


def _warmed(case: Case, station: Station, seen: WarmUp) -> Opinion:
    """Cold when the run began. Certain where the later rounds are as fast as in an earlier run: then it was warm."""
    cell, layer, label = seen.cell, station.layer.name, seen.cell.workload.label
    then = _then(case, cell.layer, cell)
    agrees = then is not None and 1 / AGREES <= seen.quick / then.iops.value <= AGREES
    slow, quick = units.count(seen.slow), units.count(seen.quick)
    as_then = f", as in the earlier run ({units.count(then.iops.value)})" if then is not None and agrees else ""
    return Opinion(
        title=f"the cache that answers the reads of {layer} was cold when the run began",
        explanation=f"{label}, the read that was measured first, gave {slow} IOPS at the begin of the run and "
        f"{quick} in the later rounds{as_then}: at first the medium served it, then a cache in front of it.",
        next_step="Measure again: the cache is warm now. If reads are slow after each pause, look for what empties "
        "the cache or takes its memory.",
        cells=frozenset({cell.workload.key}),
        weight=Weight.SHOWN if agrees else Weight.SUGGESTED,
        strength=0.9 if agrees else 0.7,
        lead=6.0 if agrees else 2.0,
        evidence=(
            operational(
                f"{label} at {cell.layer}: {slow} IOPS until second {units.significant(seen.seconds, 2)} of the run, "
                f"at least {units.significant(warming.CLEAR, 2)} times as many ever after, {quick} in the later "
                f"rounds{as_then}",
                [cell],
            ),
            differential(
                f"{seen.written.workload.label}: durable writes of the same size give "
                f"{units.count(seen.written.iops.value)} IOPS, at first as later: the rate of the medium",
                [seen.written],
            ),
        ),
        missing=() if agrees else ("an earlier run in which the cache was warm",),
        layer=layer,
        loss=-math.log(seen.left) / len(station.cells),
    )


def _by_the_medium(case: Case, station: Station) -> list[CellSummary]:
    """Durable writes, one at a time at random, that take as long as what a medium does."""
    alone = [
        (near, c)
        for near in case.without_server(station)
        for c in near.cells
        if c.workload.rw.random and c.workload.outstanding == 1
    ]
    reads = [c.iops.value for near, c in alone if near is station and not c.workload.rw.writes]
    return [
        c
        for _, c in alone
        if c.workload.durable and not c.workload.rw.reads and reads and c.iops.value * BY_THE_MEDIUM <= max(reads)
    ]


def _then(case: Case, layer: str, cell: CellSummary) -> Reference | None:
    return case.analysis.reference(layer, cell.workload.key, ReferenceSource.BASELINE)
