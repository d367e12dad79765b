"""Who is ready to run and waits for a CPU: what of a request's time is neither work nor the wire's.

The kernel counts how long a thread was ready before it ran (schedstat). Waiting threads ÷ outstanding requests is the
share of a request's time in which its thread only wanted a CPU. A neighbour, a quota and too few CPUs all
show in it; a wire, a disk and a lock do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from strata.diagnose.rows import Predicted, cover
from strata.diagnose.view import Point
from strata.model.analysis import CellSummary
from strata.model.counters import cpu
from strata.model.resources import ServerProcess

MOST = 0.95
LEAST_COVER, LEAST_SURE = 0.6, 0.25
"""Of the loss: what the waits explain, and what of it is certain."""


@dataclass(frozen=True)
class Waiting:
    """Threads that wait for a CPU, mean: of the load generator, and of the server with most of them."""

    own: float
    served: float
    server: ServerProcess | None

    def share(self, outstanding: int) -> float:
        """0..1 of a request's time."""
        return min(MOST, (self.own + self.served) / outstanding)


def waiting(cell: CellSummary) -> Waiting | None:
    """None where no server's waits were read."""
    known = [s for s in cell.resources.servers if s.waiting is not None]
    if not known:
        return None
    most = max(known, key=lambda s: s.waiting or 0.0)
    served = sum(s.waiting or 0.0 for s in known)
    return Waiting(cell.readings.total(cpu.OWN_RUN_DELAY) or 0.0, served, most)


def predicted(points: Sequence[Point]) -> tuple[Predicted, ...]:
    """What the waits leave of the layer below's IOPS, where they were read and grew over those there.

    Certain is what each request's own thread waits. At the least there is what the servers' work leaves of work and
    waits together: requests may stand behind a thread that waits.
    """
    found = []
    for point in points:
        here, there = waiting(point.upper), waiting(point.lower)
        if here is None:
            continue
        more = here.share(point.n) - (there.share(point.n) if there is not None else 0.0)
        if more > 0:
            work = sum(s.cores for s in point.upper.resources.servers)
            sure, least = point.x_below * (1 - more), work / (work + here.served) if work > 0 else 0.0
            found.append(Predicted(point, min(sure, point.x_below * max(least, 1 - MOST)), sure, sure=sure))
    return tuple(found)


def explains(found: Sequence[Predicted], slow: Sequence[Point]) -> float | None:
    """The part of the loss of the slow rows that the waits make; None where that is not enough to name them."""
    whole = cover(found, slow)
    certain = cover([Predicted(f.point, f.high, f.high) for f in found], slow)
    return whole if whole >= LEAST_COVER and certain >= LEAST_SURE else None
