"""What the own-limit causes have in common: one limit on a healthy device, with the rows it predicts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from strata import units
from strata.diagnose import groups, members, neighbours, times
from strata.diagnose.case import Case
from strata.diagnose.causes import generator, unexplained
from strata.diagnose.opinion import Opinion
from strata.diagnose.own_limits import GroundLayer, Limit, owns
from strata.diagnose.reference import ReferenceComparison
from strata.model.cause import Cause
from strata.model.finding import Evidence, FindingRow

MOST_BUSY, EVEN, UNCOUNTED = 0.95, 1.6, 0.8
"""``UNCOUNTED``: of the strength, where the device was not counted: a neighbour on it would look the same."""


@dataclass(frozen=True)
class LimitText:
    """What a cause says of its limit in words."""

    title: str
    explanation: str
    next_step: str
    evidence: Evidence


Words = Callable[[GroundLayer, Limit], LimitText]
Unknown = Callable[[GroundLayer], tuple[str, str] | None]


def judged(case: Case, cause: Cause, words: Words, unknown: Unknown = lambda _: None) -> Iterator[Opinion]:
    """The opinion of one cause about every ground layer that is slower than it should be.

    ``unknown``: (why it cannot be told of a layer, what is missing) unless something else rules it out.
    """
    for own in owns(case):
        if own.slow:
            one = _opinion(case, own, own.limit(cause), words)
            why = None if one.holds is False else unknown(own)
            yield one if why is None else Opinion(None, why[0], missing=(why[1],), layer=one.layer)


def _opinion(case: Case, own: GroundLayer, limit: Limit, words: Words) -> Opinion:
    layer = own.station.layer.name
    if why := _elsewhere(case, own):
        return Opinion(False, why, layer=layer)
    if not limit.acceptable:
        return _refuted(own, limit)
    best = own.limits[0] is limit
    busy = _busy(own.slow)
    unsure = busy > MOST_BUSY and not _even(own.slow)
    missing = (f"idle CPUs: they are {units.percent(busy, 2)} busy in those workloads",) if unsure else ()
    said = words(own, limit)
    return Opinion(
        holds=True if best and not missing else None,
        because=""
        if best
        else f"{own.limits[0].cause.words} fits the figures better: by {own.lead(own.limits[0].cause):.1f}",
        title=said.title,
        explanation=said.explanation,
        next_step=said.next_step,
        cells=frozenset(h.key for h in own.slow),
        strength=limit.explained * (1.0 if all(members.counted(h.cell) for h in own.slow) else UNCOUNTED),
        lead=own.lead(limit.cause),
        evidence=(unexplained.below_promise(own), said.evidence),
        missing=missing,
        layer=layer,
        loss=own.loss,
        rows=tuple(_row(h, limit, layer) for h in own.slow if h.key in limit.rows),
    )


def _elsewhere(case: Case, own: GroundLayer) -> str:
    """Why the device's own speed cannot be judged by these cells."""
    if neighbours.on(case, own.station) is not None:
        return "another user keeps the device busy: the device's own speed cannot be seen"
    if groups.member(own.station) is not None:
        return "most requests are not delayed while others wait: a limit of the whole device would delay all of them"
    if groups.cached(own.station) is not None:
        return "a cache answers some of the reads: the medium's own speed cannot be seen"
    if generator.limits(case.analysis, [h.cell for h in own.slow]):
        return "the load generator issues no more"
    return ""


def _busy(cells: tuple[ReferenceComparison, ...]) -> float:
    known = [h.cell.cpu_busy for h in cells if h.cell.cpu_busy is not None]
    return float(np.median(known)) if known else 0.0


def _even(cells: tuple[ReferenceComparison, ...]) -> bool:
    """Whether their requests take about as long: what waits for a CPU takes anything."""
    known = [(times.at(h.cell, 10), times.at(h.cell, 90)) for h in cells]
    spreads = [high / low for low, high in known if low and high]
    return bool(spreads) and float(np.median(spreads)) <= EVEN


def _row(h: ReferenceComparison, limit: Limit, layer: str) -> FindingRow:
    low, high = limit.rows[h.key]
    explained = np.log(h.promised / max(min(high, max(low, h.measured)), 1e-9)) / -h.ratio_log
    return FindingRow(
        cell=f"{layer}/{h.key}", measured=h.measured, low=low, high=high, share=float(np.clip(explained, 0.0, 1.0))
    )


def _refuted(own: GroundLayer, limit: Limit) -> Opinion:
    """The row that it fits least."""
    layer = own.station.layer.name
    known = [h for h in own.cells if h.key in limit.rows]
    if not known:
        return Opinion(False, "too little is specified for the layer", layer=layer)
    worst = max(known, key=lambda h: abs(limit.residual[h.key]))
    low, high = limit.rows[worst.key]
    wanted = high if limit.residual[worst.key] < 0 else low
    because = f"it predicts {units.count(wanted)} IOPS, not {units.count(worst.measured)}"
    where = f"at {worst.cell.workload.label}"
    return Opinion(False, because, detail=where, strength=limit.explained, layer=layer)


def alone(own: GroundLayer) -> ReferenceComparison | None:
    """The cell of one small read at a time."""
    return next((h for h in own.cells if h.depth == 1), None)


def deepest(own: GroundLayer) -> ReferenceComparison:
    """The slowest of those with the most outstanding."""
    most = max(h.depth for h in own.cells)
    return min((h for h in own.cells if h.depth == most), key=lambda h: h.ratio_log)
