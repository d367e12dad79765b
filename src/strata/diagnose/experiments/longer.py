"""The same workload for several seconds.

What it changes
    One workload is measured unchanged, but for five seconds at a time.
What it tells apart
    Stalls and slow phases predict that they take the same share of the time again. A write cache that fills up
    predicts the bytes that it drains in that time, plus at most one more filling. Every other cause predicts no
    change, but a limit that is fitted to the rate between the episodes, which says nothing of them.
"""

from __future__ import annotations

import math

import numpy as np

from strata.diagnose import paused
from strata.diagnose.case import Case, Station
from strata.diagnose.expected import Range, asked, told
from strata.diagnose.opinion import Opinion
from strata.diagnose.predict import slack
from strata.diagnose.sides import CauseSide, on
from strata.model.analysis import CellSummary
from strata.model.cause import Cause
from strata.model.endpoint import EndpointKind
from strata.model.experiment import Experiment, Metric, Prediction

ABOUT = frozenset({Cause.STALLS, Cause.SLOW_PHASES, Cause.WRITE_CACHE_FULL})

Made = tuple[CellSummary, tuple[Prediction, ...]]

RUNTIME_S, SECONDS = 5.0, 22.0
"""Of one measurement, and of the whole experiment: two rounds of two."""
AGAIN, NONE = 2.5, 0.02
"""Their share of the time, as a factor to either side; and what is no such thing."""


def propose(case: Case, standing: tuple[Opinion, ...]) -> Experiment | None:
    """For the first of these causes that stands and would be seen in so short a time."""
    for opinion in standing:
        station = case.station(opinion.layer)
        made = None if station is None else _made(case, station, opinion, standing)
        if made is not None:
            return made
    return None


def _made(case: Case, station: Station, opinion: Opinion, standing: tuple[Opinion, ...]) -> Experiment | None:
    cells = [c for c in station.cells if c.workload.key in opinion.cells and c.workload.saturates]
    match opinion.cause:
        case Cause.STALLS:
            found = _episodes(cells, opinion, standing, Metric.STALLED)
        case Cause.SLOW_PHASES:
            found = _episodes(cells, opinion, standing, Metric.SLOWED)
        case Cause.WRITE_CACHE_FULL if station.layer.target.kind is not EndpointKind.BLOCK:
            found = _drained(cells, opinion, standing, slack(case.analysis.noise.tolerance))
        case _:
            return None
    if found is None:
        return None
    cell, predictions = found
    return asked(
        cell,
        f"the same workload for {math.floor(RUNTIME_S)} seconds",
        predictions,
        runtime_s=RUNTIME_S,
        seconds=SECONDS,
        otherwise="with any other cause the rate stays the same",
    )


def _episodes(cells: list[CellSummary], opinion: Opinion, standing: tuple[Opinion, ...], metric: Metric) -> Made | None:
    known = [(c, share) for c in cells if (share := _share(c, metric)) is not None]
    if not known:
        return None
    cell, _ = min(known, key=lambda one: (one[0].workload.rw.writes, one[0].workload.outstanding))
    share = float(np.median([s for _, s in known]))
    mine: Range = (share / AGAIN, min(1.0, share * AGAIN))
    others: Range = (0.0, min(NONE, 0.9 * mine[0]))
    asked_of = tuple(o for o in standing if o.cause not in on(CauseSide.BETWEEN))
    return cell, told(asked_of, {opinion.cause: mine}, others, metric, 0.0)


def _drained(cells: list[CellSummary], opinion: Opinion, standing: tuple[Opinion, ...], wide: float) -> Made | None:
    """The cache may be full when the measurement begins, or empty."""
    known = [(c, c.steadiness.cliff) for c in cells if c.steadiness is not None and c.steadiness.cliff is not None]
    if not known:
        return None
    cell, cliff = max(known, key=lambda one: one[1].before / one[1].after)
    size, before = cell.workload.bs_moments[0], cell.iops.value
    ends = cliff.after / size, (cliff.after + cliff.written / RUNTIME_S) / size
    mine = ends[0] * math.exp(-wide), ends[1] * math.exp(wide)
    others = before * math.exp(-wide), before * math.exp(wide)
    return cell, told(standing, {opinion.cause: mine}, others, Metric.IOPS, before)


def _share(cell: CellSummary, metric: Metric) -> float | None:
    found = paused.episodes(cell, paused.KINDS[metric])
    return None if found is None else found.share
