"""The same workload for several seconds.

What it changes
    One workload is measured as it was, but for five seconds at a time.
What it tells apart
    Stalls and slow phases predict the share of the time that they take again; a write cache that fills up predicts that
    the rate falls for good. Every other cause predicts neither.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from strata.diagnose.case import Case, Station
from strata.diagnose.expected import Range, asked, told
from strata.diagnose.opinion import Opinion
from strata.model.analysis import CellSummary
from strata.model.cause import Cause
from strata.model.endpoint import EndpointKind
from strata.model.experiment import Experiment, Metric

RUNTIME_S, SECONDS = 5.0, 22.0
"""Of one measurement, and of the whole experiment: two rounds of two."""
AGAIN, NONE = 2.5, 0.02
"""Their share of the time, as a factor to either side; and what is no such thing."""
FALLS_TO, STEADY = 0.7, (0.8, 1.25)


def propose(case: Case, standing: tuple[Opinion, ...]) -> Experiment | None:
    """For the first of these causes that stands and would be seen in so short a time."""
    for opinion in standing:
        station = case.station(opinion.layer)
        made = None if station is None else next(_made(station, opinion, standing), None)
        if made is not None:
            return made
    return None


def _made(station: Station, opinion: Opinion, standing: tuple[Opinion, ...]) -> Iterator[Experiment | None]:
    metric: Metric
    match opinion.cause:
        case Cause.STALLS | Cause.SLOW_PHASES:
            metric = Metric.STALLED if opinion.cause is Cause.STALLS else Metric.SLOWED
            known = [(c, share) for c in _cells(station, opinion) if (share := _share(c, metric)) is not None]
            if not known:
                return
            cell, _ = min(known, key=lambda one: (one[0].workload.rw.writes, one[0].workload.outstanding))
            shares = sorted(share for _, share in known)
            middle = shares[len(shares) // 2]
            mine: Range = (middle / AGAIN, min(1.0, middle * AGAIN))
            others: Range = (0.0, min(NONE, mine[0] * 0.9))
        case Cause.WRITE_CACHE_FULL:
            writes = [c for c in _cells(station, opinion) if c.workload.rw.writes]
            if not writes or station.layer.target.kind is EndpointKind.BLOCK:
                return
            cell = max(writes, key=lambda c: c.bytes_per_second.value)
            metric, mine, others = Metric.CLIFF, (0.0, FALLS_TO), STEADY
        case _:
            return
    yield asked(
        station.layer.name,
        cell.workload,
        cell.workload,
        f"{math.floor(RUNTIME_S)} seconds of the same",
        told(standing, {opinion.cause: mine}, others, metric),
        runtime_s=RUNTIME_S,
        seconds=SECONDS,
        otherwise="every other cause leaves it even",
    )


def _cells(station: Station, opinion: Opinion) -> list[CellSummary]:
    return [c for c in station.cells if c.workload.key in opinion.cells and c.workload.saturates]


def _share(cell: CellSummary, metric: Metric) -> float | None:
    steady = cell.steadiness
    found = None if steady is None else steady.stalls if metric is Metric.STALLED else steady.slow
    return None if found is None else found.share
