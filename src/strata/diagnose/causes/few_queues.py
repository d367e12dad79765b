"""One queue, connection or virtual disk is used where several give more.

What it claims
    The layer is slower than the layer it is compared with, and the same path with more queues is not, or less so.
Why it matters
    No new hardware is needed: configure the host to use more queues, connections or virtual disks.
Evidence it needs
    Differential: another layer over the same one, with more connections, gives at least 1.25 times the IOPS in the
    deep workloads. Operational: the rate does not grow with the depth, while with more queues it does.
What rules it out
    No layer with more connections was measured; one that gives the same IOPS.
What to do next
    Use more queues (the controller's queues, ``connections=``, ``nconnect``), or several virtual disks.
How sure
    By how much more the several queues give, and in how many workloads.
Example
    830 IOPS at every depth through one queue of a virtual controller, 1 640 through four.
Source
    Asymptotic bounds of a closed system (Denning, Buzen 1978): a queue that serves k at once gives at most k ÷ S.
"""

from __future__ import annotations

import numpy as np

from strata import units
from strata.diagnose import observe
from strata.diagnose.case import Pair
from strata.diagnose.evidence import differential
from strata.diagnose.opinion import Opinion, Weight
from strata.diagnose.view import Point
from strata.model.expect import Faster
from strata.model.finding import Cause
from strata.model.stack import Layer

CAUSE = Cause.FEW_QUEUES
PRECEDENCE = 23
GAINS, LEAST_DEPTH, LEAST_COVER = 1.25, 4, 0.5


def judge_pair(pair: Pair) -> Opinion | None:
    """Where the stack has the same path with more connections."""
    view = pair.view
    best: tuple[float, Layer, list[tuple[Point, float]]] | None = None
    for other in pair.case.stack.layers:
        if other.on != view.layer.on or other.target.connections <= view.layer.target.connections:
            continue
        if other.expect.faster is Faster.CACHE:
            # What a cache answers is no gain of its connections.
            continue
        gains = [(p, g) for p in view.affected if (g := _gain(pair, other, p)) is not None]
        won = [(p, g) for p, g in gains if g >= GAINS]
        total = sum(p.loss for p in view.affected)
        cover = sum(p.loss for p, _ in won) / total if total > 0 else 0.0
        if cover >= LEAST_COVER and (best is None or cover > best[0]):
            best = (cover, other, won)
    if best is None:
        return None
    cover, other, won = best
    most = max(won, key=lambda one: one[1])
    gain = float(np.median([g for _, g in won]))
    times = f"{units.significant(gain, 2)} times the IOPS"
    few, many = view.layer.target.connections, other.target.connections
    name = view.layer.name
    return Opinion(
        weight=Weight.SHOWN,
        title=f"{name} uses {few} connection{'s' * (few > 1)} where {many} give {times}",
        explanation=f"The same path with {many} connections ({other.name}) gives {times} in {len(won)} of "
        f"{len(view.affected)} slow workloads: {few} cannot carry what {view.below.name} can give.",
        next_step="Use more queues (the controller's queues, connections=, nconnect), or several virtual disks.",
        cells=frozenset(p.key for p, _ in won),
        strength=0.9 * cover,
        lead=4.0,
        evidence=(
            observe.slower(view),
            differential(
                f"{most[0].workload.label}: {units.count(most[0].x)} IOPS with {few}, "
                f"{units.count(most[0].x * most[1])} with {many}",
                (view.cell(most[0]), f"{other.name}/{most[0].key}"),
            ),
            *observe.waits_above(view, [p for p, _ in won]),
        ),
    )


def _gain(pair: Pair, other: Layer, point: Point) -> float | None:
    """How many times as much the other path gives with that workload; None where it was not measured, or is shallow."""
    cell = pair.case.analysis.summary(other.name, point.key)
    if cell is None or point.n < LEAST_DEPTH or point.upper.iops.value <= 0:
        return None
    return cell.iops.value / point.upper.iops.value
