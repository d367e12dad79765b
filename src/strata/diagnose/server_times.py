"""Where a request spends the time that a layer adds: in its server, or between the client and the server's door.

Where the server tells what its side of each request took, the client's time splits into that and the rest: the client's
own stack, both adapters, the way there and back, and the time in the server's socket.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from strata import units
from strata.diagnose import times
from strata.diagnose.evidence import operational
from strata.diagnose.view import Point, View
from strata.model.ends import LatencySplit
from strata.model.finding import Evidence

MEDIAN = "50"
"""Of single requests, where both ends tell it: a busy machine holds some of them up for long."""


@dataclass(frozen=True)
class ServerPart:
    """Of one workload, ns of a request in the middle: at the client, in the server, and at the layer below."""

    point: Point
    server: str
    client_ns: float
    server_ns: float
    below_ns: float

    @property
    def own_ns(self) -> float:
        """What the server adds to the layer below."""
        return max(0.0, self.server_ns - self.below_ns)

    @property
    def way_ns(self) -> float:
        """What is spent before and behind the server."""
        return max(0.0, self.client_ns - self.server_ns)

    @property
    def share(self) -> float:
        """The server's part of both."""
        return self.own_ns / whole if (whole := self.own_ns + self.way_ns) > 0 else 0.0


def spent(points: Iterable[Point]) -> tuple[ServerPart, ...]:
    """Of the workloads whose server told the times of these requests and of no others."""
    return tuple(s for p in points if (s := _of(p)) is not None)


def _of(point: Point) -> ServerPart | None:
    direction = "write" if point.workload.rw.writes else "read"
    if point.workload.rw.reads and point.workload.rw.writes:
        return None
    told = next((s for s in point.upper.splits if s.direction == direction and not s.notes), None)
    if told is None:
        return None
    client, server, middle = _middle(told)
    below = times.at(point.lower, 50) if middle else None
    return ServerPart(point, told.server, client, server, below or point.lower.mean_ns.value)


def _middle(told: LatencySplit) -> tuple[float, float, bool]:
    """At both ends, and whether that is the median; else it is the mean."""
    for one in told.percentiles:
        if one.percentile == MEDIAN:
            return one.client_ns.value, one.server_ns.value, True
    return told.client_ns.value, told.server_ns.value, False


def server_share(found: Iterable[ServerPart]) -> float | None:
    """The server's part of what is added, median over the workloads; None where no server told."""
    shares = [one.share for one in found]
    return float(np.median(shares)) if shares else None


def evidence(view: View, found: tuple[ServerPart, ...]) -> tuple[Evidence, ...]:
    """In words, of the workload with the fewest outstanding."""
    if not found:
        return ()
    one = min(found, key=lambda s: (s.point.n, s.point.bs))
    client, server, below, way = (units.duration(ns) for ns in (one.client_ns, one.server_ns, one.below_ns, one.way_ns))
    said = (
        f"{one.point.workload.label}: of {client} at the client {server} are the {one.server}'s, where "
        f"{view.below.name} takes {below}; {way} lie before and behind it"
    )
    return (operational(said, [view.cell(s.point) for s in found]),)
