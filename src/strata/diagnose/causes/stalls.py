"""The layer stalls repeatedly.

What it claims
    For a while nothing completes although requests are outstanding; what limits the rate between these stalls is
    asked apart. The lowest layer that shows it is named.
Why it matters
    Mean and median look good. A user waits for the slowest of many requests, and that one waits for the stall.
Evidence it needs
    Differential: stalls in at least half of the layer's workloads, of one length, whatever the workload and also with
    one request at a time. Operational: a few requests take as long as a stall, the others as long as usual; the device
    has requests in flight meanwhile and completes none (``blockdev_stalled_seconds``). Bins that a stall fills in part
    look like a slow phase: it is a stall where the device stands still for half of what is not done in it, or, over a
    wire, where the late requests of all workloads are late by the same time.
What rules it out
    A load generator that itself waited for a CPU for as long; stalls in deep queues only (then the queue delays
    the others); requests that complete during them (then they are slow phases); the same stalls at a layer below;
    segments that are retransmitted in those cells (then the layer waits for packets that the wire loses, also where
    the kernel has the connections: a network device, a mounted share).
What to do next
    Check the drive's error log and its retries, firmware that pauses, path failovers and snapshots.
How sure
    By the share of the workloads that show them, and by how alike they are.
Example
    In every 500 ms nothing completes for 60 ms; one 8 KiB read at a time takes 2.5 ms, and 62 ms in a stall.
Source
    Fail-slow at scale (Gunawi et al., FAST 2018): stalls of firmware and media; the tail at scale (Dean, Barroso
    2013).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from strata import units
from strata.diagnose import over_time, paused, times
from strata.diagnose.case import Case
from strata.diagnose.evidence import differential, operational
from strata.diagnose.opinion import Opinion, Weight
from strata.diagnose.over_time import LayerEpisodes
from strata.model.analysis import CellSummary
from strata.model.finding import Cause, Evidence

CAUSE = Cause.STALLS
PRECEDENCE = 15
SIDES = ("episodes",)
LEAST_LOST = 0.02
"""Of the time: below it a stall is a single event."""
LOST_ON_THE_WIRE, ONE_EACH = 0.005, 0.5
"""Of the segments, sent again: each waits for a timer of 200 ms or more where nothing follows it; of the late requests,
so many segments sent again."""


def judge(case: Case) -> Iterator[Opinion]:
    """At the lowest layer where they are seen."""
    for course in over_time.seen(case, "stalls"):
        if course.share < LEAST_LOST:
            continue
        remote = course.station.layer.target.remote
        again = _sent_again([c for c, _ in course.told])
        usual = float(np.median(again or [0.0]))
        lost = usual >= LOST_ON_THE_WIRE and (remote or _sent_again_only_there(course, usual))
        if lost or (remote and _sent_again_for_each(course)):
            why = f"it waits for packets that the wire loses: {units.percent(usual, 2)} are retransmitted"
            yield Opinion(False, why, layer=course.station.layer.name)
        elif remote and (unseen := tuple(_unseen(course, again))):
            # Without evidence: that the stalls come again would tell no more.
            why, missing = unseen[0][0], tuple(lack for _, lack in unseen)
            yield Opinion(None, why, layer=course.station.layer.name, missing=missing)
        else:
            yield _opinion(course)


def _sent_again(cells: Sequence[CellSummary]) -> list[float]:
    """Shares of the segments, where they were counted."""
    return [r.share for c in cells if (r := c.resources.resent) is not None]


def _sent_again_only_there(course: LayerEpisodes, usual: float) -> bool:
    """Whether workloads without stalls lose clearly less. A local disk stalls beside whatever this machine sends."""
    stalled = {c.workload.key for c, _ in course.told}
    others = _sent_again([c for c in course.looked if c.workload.key not in stalled])
    return not others or float(np.median(others)) < usual / 2


def _sent_again_for_each(course: LayerEpisodes) -> bool:
    """Whether about a segment is sent again for each late request in all cells that read, or in all that write (the
    other end sends those of the other direction, and may not be counted). A stall makes all outstanding requests late
    together, and one segment is sent again to see whether the other end is still there; of large writes more are."""
    each: dict[bool, list[float]] = {False: [], True: []}
    for cell, _ in course.told:
        again, tail = cell.resources.resent, cell.tail
        if cell.workload.outstanding > 1 and again is not None and tail is not None and tail.far_ios:
            each[cell.workload.rw.writes].append(again.rate / (tail.far_ios * cell.iops.value))
    return any(min(those) >= ONE_EACH for those in each.values() if len(those) > 1)


def _unseen(course: LayerEpisodes, again: Sequence[float]) -> Iterator[tuple[str, str]]:
    """What else makes requests over a wire late all alike, and was not counted: why, and what is missing."""
    if not again:
        yield "packet loss on the wire is not counted", "the number of retransmitted segments (TCP counters)"
    waits = [s.waiting for c, _ in course.told for s in c.resources.servers]
    if course.by_requests and not any(one is not None for one in waits):
        yield (
            "whether its server is held back, by a CPU quota or by others, is not counted",
            "the CPU time of its server (counters of its node)",
        )


def _opinion(course: LayerEpisodes) -> Opinion:
    layer = course.station.layer.name
    length, share = units.duration(course.length_s * 1e9), units.percent(course.share, 2)
    period = course.period_s
    often = "" if period is None else f", about every {units.duration(period * 1e9)}"
    part = len(course.told) / len(course.looked)
    return Opinion(
        weight=Weight.SHOWN,
        title=f"{layer} repeatedly stalls for {length}",
        explanation=f"{layer} completes nothing for {length}{often}: {share} of the time.",
        next_step="Check the device's error log and retries (dmesg, smartctl), firmware that pauses, path failovers "
        f"and snapshots; without the stalls it would give {1 / (1 - course.lost):.2f} times the IOPS.",
        cells=frozenset(c.workload.key for c, _ in course.told),
        strength=min(1.0, 0.5 + part / 2),
        lead=2.0 * len(course.told),
        evidence=(_stretches(course), *_tails(course), *_at_the_device(course)),
        layer=layer,
        loss=-math.log(max(0.05, 1 - course.lost)),
    )


def _stretches(course: LayerEpisodes) -> Evidence:
    longest = max(e.longest_s for _, e in course.told)
    return differential(
        f"{len(course.told)} of {len(course.looked)} workloads stalled, {course.count} times in all, "
        f"{units.duration(course.length_s * 1e9)} on average and {units.duration(longest * 1e9)} at most",
        [c for c, _ in course.told],
    )


def _tails(course: LayerEpisodes) -> Iterator[Evidence]:
    """Where few are outstanding: the requests that met a stall."""
    known = [(c, e) for c, e in course.told if c.tail is not None and c.tail.far_ns is not None]
    if not known:
        return
    cell, _ = min(known, key=lambda one: one[0].workload.outstanding)
    assert cell.tail is not None and cell.tail.far_ns is not None
    yield operational(
        f"{cell.workload.label}: {units.percent(cell.tail.far_ios, 2)} of the requests take "
        f"{units.duration(cell.tail.far_ns)}, the others {units.duration(times.at(cell, 50) or cell.mean_ns.value)}",
        [cell],
    )


def _at_the_device(course: LayerEpisodes) -> Iterator[Evidence]:
    """What its own counter says: requests under way, and none completed."""
    known = [(c, s) for c, e in course.told if (s := paused.stalled(c, e)) is not None]
    if known:
        cell, share = max(known, key=lambda one: one[1])
        yield operational(
            f"{cell.workload.label}: {cell.devices[-1]} has requests in flight and completes none for "
            f"{units.percent(share, 2)} of the time",
            [cell],
        )
