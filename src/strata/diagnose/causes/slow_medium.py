"""The medium is slower than it should be.

What it claims
    Each request takes the lowest layer longer than its specification, by the same factor however many are outstanding.
Why it matters
    This fault looks like a normal medium: nothing above it is slow, and there is no queue or cap.
Evidence it needs
    Differential: one request at a time, many at once, and large ones are all slower than the specification
    (``expect.latency``, ``expect.iops``, ``expect.bandwidth``) by the same factor, or by the same time per request.
    Operational: the time of most requests, not of a few, has grown.
What rules it out
    No specification (then nothing is claimed); the specified time for one request at a time; a plateau that the depth
    explains; another user's requests at the device; stalls or slow phases, between which it is as fast as specified.
    It is not known where one read at a time waits for a CPU for half of the time that is added to it.
What to do next
    Check the medium's health, its link and its power state, then its firmware; compare it with a peer.
How sure
    By the part of the loss that one factor explains, and by how much worse a queue or a cap explains it.
Example
    8 KiB reads take 4.9 ms alone where 2.5 ms are specified, and at depth 32 it gives 820 IOPS where 1 640 are
    specified: a factor of 2.0.
Source
    Fail-slow hardware is found by comparison with its own kind or its past (Gunawi et al., FAST 2018; Lu et al., FAST
    2023).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from strata import units
from strata.diagnose import blamed, own_limits, times
from strata.diagnose.blamed import LimitText
from strata.diagnose.case import Case
from strata.diagnose.evidence import operational
from strata.diagnose.opinion import Opinion
from strata.diagnose.own_limits import GroundLayer, Limit
from strata.model.counters import cpu
from strata.model.finding import Cause

CAUSE = Cause.SLOW_MEDIUM
PRECEDENCE = 45
SIDES = ("between", "far")
MOST_WAITS = 0.5
"""Of the time that is added to one read at a time: what its thread waits for a CPU, or the machine for one of its
host's, is not the medium's."""
predict = own_limits.of_experiment


def judge(case: Case) -> Iterator[Opinion]:
    """Only where one request at a time is promised a time: without it a queue or a cap looks alike."""
    return blamed.judged(case, CAUSE, _said, _unknown)


def _unknown(own: GroundLayer) -> tuple[str, str] | None:
    one = blamed.alone(own)
    if one is None:
        return "no latency of a single request is specified", "expect.latency of the layer"
    waits = (one.cell.readings.total(cpu.OWN_RUN_DELAY) or 0.0) + (one.cell.cpu_steal or 0.0)
    added = 1 - math.exp(one.ratio_log)
    if waits < MOST_WAITS * added:
        return None
    share = units.percent(waits, 2)
    return f"one read at a time waits for a CPU during {share} of its time", "idle CPUs, or the same on a quiet machine"


def _said(own: GroundLayer, limit: Limit) -> LimitText:
    layer, one = own.station.layer.name, blamed.alone(own)
    factor = f"{units.significant(limit.parameter, 2)} times"
    middle = times.at(one.cell, 50) if one is not None else None
    time = "" if one is None else f"half of the reads take more than {units.duration(middle or one.cell.mean_ns.value)}"
    promised = "" if one is None else f"{units.duration(1e9 / one.promised)}"
    return LimitText(
        title=f"{layer} takes {factor} as long as it should",
        explanation=f"One read at a time takes {layer} {factor} as long as in {own.known.source}, and so do many at "
        "once: the medium itself is slow, not a queue in front of it.",
        next_step="Check the medium's health, its link and its power state (strata survey), then its firmware; as "
        f"specified it would give {units.count(blamed.deepest(own).promised)} IOPS.",
        evidence=operational(
            f"one at a time, {time}; {promised} are specified" if one else "all depths are slower by the same factor",
            [h.cell for h in own.cells if h.depth == 1],
        ),
    )
