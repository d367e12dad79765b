"""What the kernel says of a cell's TCP connections: the round trip of its path."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from strata.diagnose.view import Point, View
from strata.model.analysis import CellSummary
from strata.model.counters import Reading, tcp

LEAST_PART = 0.25
"""Of the application's bytes: what moves less is no part of the requests' path."""

MOST_OF_ADDED = 1.6
"""Times the added time: a handshake that takes longer than what requests wait is no measure of the wire."""


@dataclass(frozen=True)
class Trip:
    """The way of one request over every connection on its path, in seconds. ``least``: nothing waits on the way;
    ``usual``: as it was in the cell."""

    least: float
    usual: float


def trip(cell: CellSummary) -> Trip | None:
    """One service after another (a relay's trips add up), each by its quickest connection; None where none was read."""
    told = cell.readings
    used = _in_use(cell)
    parts = []
    for service in dict.fromkeys(map(_service, told.of(tcp.MIN_RTT))):
        if not service or service not in used:
            continue
        least = [r.value for r in told.of(tcp.MIN_RTT) if _service(r) == service and r.value > 0]
        usual = [r.value for r in told.of(tcp.RTT) if _service(r) == service and r.value > 0]
        if least:
            parts.append((min(least), max([*usual, min(least)])))
    return Trip(sum(p[0] for p in parts), sum(p[1] for p in parts)) if parts else None


def least_trip(cells: Iterable[CellSummary]) -> float | None:
    """Seconds: the least round trip of a layer over all its cells, as a full queue in one of them is no distance."""
    return min((t.least for c in cells if (t := trip(c)) is not None), default=None)


def farther(view: View) -> float | None:
    """Seconds of round trip that this layer's connections have more than those of the layer below; None where they
    were not seen."""
    here = least_trip(p.upper for p in view.everything)
    return None if here is None else max(0.0, here - (least_trip(p.lower for p in view.everything) or 0.0))


def of_added(view: View, added: float) -> float | None:
    """Seconds of wire in the ``added`` time of each request: by the connections, else by a handshake that is not longer
    than that; None where neither tells."""
    seen = farther(view)
    asked = view.rtt if view.rtt is not None and view.rtt <= MOST_OF_ADDED * added else None
    known = [trip for trip in (seen, asked) if trip is not None]
    return max(known) if known else None


def had_already(points: Iterable[Point]) -> float:
    """The share of the segments sent again that the other end had by then, median over these; 0 where the kernel does
    not count it: they were overtaken on the way, or late, and not lost (RFC 2883, RFC 3708)."""
    told = [p.upper.readings for p in points]
    both = [(t.total(tcp.HAD_ALREADY), t.total(tcp.RETRANSMITS)) for t in told]
    shares = [min(1.0, had / again) for had, again in both if had is not None and again]
    return float(np.median(shares)) if shares else 0.0


def _in_use(cell: CellSummary) -> dict[str, float]:
    """Bytes per second by service, of those that carry the application's bytes."""
    moved: dict[tuple[str, str | None, str], float] = {}
    for counter in (tcp.ACKED, tcp.RECEIVED):
        for r in cell.readings.of(counter):
            key = _service(r), r.node, r["end"]
            moved[key] = moved.get(key, 0.0) + r.value
    most: dict[str, float] = {}
    for (service, _, _), rate in moved.items():
        most[service] = max(most.get(service, 0.0), rate)
    least = LEAST_PART * cell.bytes_per_second.value
    return {service: rate for service, rate in most.items() if rate >= least}


def _service(reading: Reading) -> str:
    """The port of the service; of runs before it was kept the client's name for it, and nothing where that is open."""
    named = reading.get("port") or reading["peer"].rpartition(":")[2]
    return "" if named == "*" else named
