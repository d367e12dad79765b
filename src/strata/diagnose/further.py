"""Which findings stand beside the first one: only those that say something it does not say already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from strata.diagnose.causes.processors import QUIET
from strata.diagnose.layers import NamedFinding
from strata.diagnose.opinion import Weight
from strata.diagnose.sides import CauseSide, on
from strata.model.analysis import Analysis
from strata.model.finding import Cause

LEAST_CONFIDENCE, LEAST_OF_SHOWN = 0.5, 0.3
"""What must be argued for a further finding; less where a counter shows its cause at another layer, of however little
of the loss: what the first one takes from the same workloads is not its own fault."""


def worth_saying(analysis: Analysis, named: Sequence[NamedFinding]) -> tuple[NamedFinding, ...]:
    """The first and, of the others, those that are sure enough, agree with it, and tell of cells it leaves open."""
    if not named:
        return ()
    first, told = named[0], [named[0]]
    open_rows: list[NamedFinding] = []
    for other in named[1:]:
        if explained(analysis, first, other):
            continue
        (open_rows if _idle_talk(first, other) else told).append(other)
    return tuple(_with_rows_left(one, told, open_rows) for one in told)


def _with_rows_left(one: NamedFinding, told: Sequence[NamedFinding], others: Sequence[NamedFinding]) -> NamedFinding:
    """Slow rows that only a finding which is not told accounts for are not explained: they take confidence with them,
    by their part of the layer's loss."""
    layer = one.finding.layer
    known = {key for n in told if n.finding.layer == layer for key in n.keys}
    open_rows = [n for n in others if n.finding.layer == layer and one.finding.lifts and n.keys - known]
    if not open_rows:
        return one
    whole = sum(n.loss for n in (*told, *open_rows) if n.finding.layer == layer)
    lost = sum(n.loss * len(n.keys - known) / len(n.keys) for n in open_rows) / (whole or 1.0)
    rows = sorted({f"{layer}/{key}" for n in open_rows for key in n.keys - known})
    left = (*one.finding.left, *(row for row in rows if row not in one.finding.left))
    sure = round(one.finding.confidence * (1 - lost / 2), 3)
    return replace(one, finding=one.finding.model_copy(update={"left": left, "confidence": sure}))


def _idle_talk(first: NamedFinding, other: NamedFinding) -> bool:
    same_layer = other.finding.layer == first.finding.layer
    shown = bool(other.standing) and other.standing[0].weight is Weight.SHOWN
    least = LEAST_OF_SHOWN if shown and not same_layer else LEAST_CONFIDENCE
    if other.finding.confidence < least or other.missing or other.withdrawn:
        return True
    if other.one_row and other.finding.outcome is None:
        # A shape through a single row is any shape: what the first finding makes of it may be one.
        return True
    return same_layer and other.finding.cause in {r.cause for r in first.finding.ruled_out}


def explained(analysis: Analysis, first: NamedFinding, other: NamedFinding) -> bool:
    """Whether the first finding accounts for the other's cells.

    So it does where both name the same workloads of one layer (unless one names episodes, between which the limit of
    the other holds), where a segment that is lost makes a pause until it is sent again (RFC 6298: 200 ms and more
    here), and where the first blames the CPUs and they have no headroom in the other's cells either (at least `QUIET`
    busy in the median).
    """
    episodes = other.finding.cause in on(CauseSide.EPISODES)
    # What so many bytes or requests a second hold back goes on all the time.
    steady = first.finding.cause in on(CauseSide.BYTES) | on(CauseSide.BETWEEN)
    beside = first.finding.cause in on(CauseSide.EPISODES) or (episodes and steady)
    if first.finding.layer == other.finding.layer and other.keys <= first.keys and not beside:
        return True
    if first.finding.layer == other.finding.layer and first.finding.cause is Cause.WIRE_LOSS and episodes:
        return True
    if first.finding.cause is not Cause.PROCESSORS:
        return False
    cells = [c for k in other.keys if (c := analysis.summary(other.finding.layer, k)) is not None]
    shares = [c.cpu_busy for c in cells if c.cpu_busy is not None]
    return bool(shares) and float(np.median(shares)) >= QUIET
