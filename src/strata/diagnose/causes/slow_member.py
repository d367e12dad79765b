"""One member of several is slower than the others.

What it claims
    The layer spreads its data over several members or paths, and one of them takes longer. Every request to it waits,
    and soon all outstanding requests wait there.
Why it matters
    Only one drive, link or path needs to be replaced. At depth, the slowest member sets the rate.
Evidence it needs
    Operational: with one request at a time, the times of requests form two groups, and the share of the slow one is
    about 1 ÷ members. Differential: with many outstanding, most requests still take no longer than one alone, while
    the others wait: the rate is the slow member's.
What rules it out
    One group of times; two groups that alternate in time (slow phases); a fast group that is faster than the medium
    should be (a cache). A load generator that is the limit itself: its own pauses make a slow group, too. More slow
    requests in flight the more are outstanding: who waits for a CPU is slow now and then, and delays whatever is there.
What to do next
    Find the member (``iostat -x``, ``btrfs device stats``, ``multipath -ll``, the controller's own view) and replace
    it.
How sure
    By how close the slow member is to being always busy in the deep workloads, by its share and its time. Less where
    the groups lie more than 16 times apart, the members are not visible and no latency is specified.
Example
    Three of four 8 KiB reads take 2.5 ms, one takes 7.3 ms; at depth 32 half of the requests take 2.5 ms, and the
    layer gives 550 IOPS where four equal members give 1 640.
Source
    Fail-slow members of RAID groups (Gunawi et al., FAST 2018); the bottleneck of a closed system: X ≤ 1 ÷ demand
    (Denning, Buzen 1978).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from strata import units
from strata.diagnose import times
from strata.diagnose.case import Case, Station
from strata.diagnose.causes import generator
from strata.diagnose.evidence import differential, operational
from strata.diagnose.groups import Groups, deep_reads, member
from strata.diagnose.opinion import Opinion, Weight
from strata.diagnose.reference import grounds, healthy
from strata.model.analysis import CellSummary
from strata.model.finding import Cause, Evidence, FindingRow

CAUSE = Cause.SLOW_MEMBER
PRECEDENCE = 14
SIDES = ("far",)
BUSY = (0.5, 1.8)
"""Of the slow member, when it holds the others up: always busy, as far as few requests tell."""
MOST_OFF = 0.25
MOST_UNSEEN = 16.0
"""Times slower than members that nobody sees and of which nothing is promised: beyond it a cache of a remote server, in
front of its disk, looks alike."""


def judge(case: Case) -> Iterator[Opinion]:
    """Of the lowest layers."""
    for station in grounds(case):
        found = member(station)
        if found is not None and not generator.limits(case.analysis, (found[0].cell, *found[1])):
            yield _opinion(station, *found)


def _opinion(station: Station, found: Groups, held: tuple[CellSummary, ...]) -> Opinion:
    layer = station.layer.name
    busy = float(np.median([_in_flight(found, c) for c in held]))
    same = [c for c in deep_reads(station) if c.workload.bs == found.cell.workload.bs]
    # One that serves the slow ones one by one cannot serve more than that of them, in any cell.
    most = max([busy, *(_in_flight(found, c) for c in same)])
    beyond = most > BUSY[1]
    members = max(2, round(1 / found.share))
    sure = BUSY[0] <= busy and not beyond and abs(found.share * members - 1) <= MOST_OFF
    promised = healthy(station.layer.expect)
    known = promised is not None and promised.latency is not None
    shown = known or len(found.cell.carriers) > 1 or found.ratio <= MOST_UNSEEN
    slow, quick = units.duration(found.slow * 1e9), units.duration(found.quick * 1e9)
    could = members / found.quick
    share = units.percent(found.share, 2)
    return Opinion(
        holds=False if beyond else True if sure else None,
        because="" if sure else f"the slow ones would be in flight {most if beyond else busy:.1f} at a time",
        weight=Weight.SHOWN if shown else Weight.SUGGESTED,
        title=f"one of about {members} members of {layer} is {units.significant(found.ratio, 2)} times slower",
        explanation=f"{share} of the requests take {slow}, the others {quick}. With many outstanding, most take no "
        "longer than one alone, and the rest wait for the slow member.",
        next_step="Find the member (iostat -x, btrfs device stats, multipath -ll, the controller's own view) and "
        f"replace it; with equal members it would give up to {units.count(could)} IOPS.",
        cells=frozenset(c.workload.key for c in (found.cell, *held)),
        strength=max(0.4, 1 - abs(math.log(busy))),
        lead=4.0 * len(held),
        evidence=(
            operational(
                f"{found.cell.workload.label}: {share} of the requests take {slow}, the others {quick}", [found.cell]
            ),
            _beside(layer, held),
        ),
        layer=layer,
        loss=float(np.mean([max(0.0, math.log(could / c.iops.value)) for c in held])),
        rows=tuple(_row(layer, found, c) for c in held),
    )


def _in_flight(found: Groups, cell: CellSummary) -> float:
    """How many of the slow ones at a time: one, where a member that serves them one by one limits the rate."""
    return found.share * cell.iops.value * found.slow


def _beside(layer: str, held: tuple[CellSummary, ...]) -> Evidence:
    deep = max(held, key=lambda c: c.workload.outstanding)
    whole = deep.workload.outstanding / deep.iops.value * 1e9
    return differential(
        f"{deep.workload.label}: half of the requests take {units.duration(times.at(deep, 50) or whole)} "
        f"or less, as one alone, and the mean is {units.duration(whole)}",
        held,
    )


def _row(layer: str, found: Groups, cell: CellSummary) -> FindingRow:
    at = 1 / (found.share * found.slow)
    return FindingRow(
        cell=f"{layer}/{cell.workload.key}", measured=cell.iops.value, low=at / 1.8, high=at * 1.8, share=1.0
    )
