"""Which interface carries the bytes of a layer, what waits in front of it, and which one could have."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from strata import units
from strata.diagnose.evidence import operational
from strata.diagnose.view import Point, View
from strata.model.analysis import CellSummary
from strata.model.finding import Evidence
from strata.model.resources import Card as Interface

IDLE, OTHERS, WAITS, FOREIGN, HEADS, FULL, AS_FULL = 0.01, 1.3, 1500.0, 0.2, 1.15, 0.8, 0.85
"""``WAITS``: bytes; less than a frame on average is not a queue. ``FOREIGN``: of the most that the card carries.
``HEADS``: bytes on a wire for each byte of the application, heads included."""
STEADY = 0.4
"""Of its median, at least, that other traffic has in every cell."""


@dataclass(frozen=True)
class FirstCard:
    """The interface that is met first; ``idle``: another of its kind and node that carries nothing."""

    wire: Interface
    idle: str | None
    per_byte: float
    """Bytes on it for each byte of the layer, median."""
    rate: float
    waiting: float
    """Bytes in front of it, of the direction in which more wait."""

    @property
    def full(self) -> bool:
        """Whether packets wait in front of it."""
        return self.waiting >= WAITS


def card_of(points: Sequence[Point]) -> FirstCard | None:
    """The card with the longest queue, else the busiest, in the cell with most bytes, or in that of the other direction
    where it moves about as many: packets wait before the card that sends them. None where none was counted."""
    if not points:
        return None
    most = max(p.x * p.bs for p in points)
    ways = [[p for p in points if p.workload.rw.writes == writes] for writes in (False, True)]
    fastest = [max(way, key=lambda p: p.x * p.bs) for way in ways if way]
    seen = tuple(w for p in fastest if p.x * p.bs >= FULL * most for w in p.upper.resources.cards)
    # This machine's own cards are not those of its namespaces.
    seen = tuple(w for w in seen if w.node is not None) or seen
    if not seen or max(w.most for w in seen) <= 0:
        return None
    wire = max(seen, key=lambda w: ((w.waiting or 0.0) >= WAITS, w.waiting or 0.0, w.most))
    peers = [w for w in seen if w.node == wire.node and w.interface != wire.interface and _kind(w) == _kind(wire)]
    used = {w.interface for w in peers if w.most >= IDLE * wire.most}
    idle = next((w.interface for w in peers if w.interface not in used), None)
    same = [(p, w) for p in points for w in p.upper.resources.cards if w.name == wire.name]
    return FirstCard(
        wire=wire,
        idle=idle,
        per_byte=float(np.median([w.most / (p.upper.bytes_per_second.value or 1.0) for p, w in same])),
        rate=wire.most,
        waiting=max(_median_waiting(same, writes) for writes in (False, True)),
    )


def _median_waiting(same: Sequence[tuple[Point, Interface]], writes: bool) -> float:
    """Bytes, of the workloads that write or of those that do not: packets wait before the card that sends them, so
    those of the other direction wait at the other end."""
    return float(np.median([w.waiting or 0.0 for p, w in same if p.workload.rw.writes == writes] or [0.0]))


def alone(view: View, keys: Collection[str]) -> FirstCard | None:
    """The full card that carries these workloads while another of its kind and node carries nothing; None without."""
    mine = [p for p in view.points if p.key in keys]
    most = max((p.x * p.bs for p in mine), default=0.0)
    # Where it is full, and not where a single request is under way.
    met = card_of([p for p in mine if p.x * p.bs >= FULL * most])
    return met if met is not None and met.full and met.idle is not None else None


@dataclass(frozen=True)
class CrossTraffic:
    """Bytes per second on a card that are no part of the path: they pass while it is not used at all."""

    wire: Interface
    rate: float


def neighbour(view: View) -> CrossTraffic | None:
    """What the card of the slow workloads carries while the layer below is measured, in every one of its cells, beyond
    what that layer moves itself where it uses a wire; None where that is less than a part, or comes and goes with the
    workload: then that layer brings it about (a mirror whose copies lie on other nodes)."""
    met = card_of(view.affected)
    if met is None:
        return None
    own = HEADS if view.below.target.remote else 0.0
    there = [rate(p.lower, met.wire) - own * p.lower.bytes_per_second.value for p in view.everything]
    usual = float(np.median(there))
    most = max(rate(p.upper, met.wire) for p in view.affected)
    least = max(STEADY * usual, FOREIGN * most / 3)
    return CrossTraffic(met.wire, usual) if usual >= FOREIGN * most and min(there) >= least else None


def rate(cell: CellSummary, wire: Interface) -> float:
    """Bytes per second of the busier direction of this card in the cell; 0 where it carried nothing."""
    return next((w.most for w in cell.resources.cards if w.name == wire.name), 0.0)


def waits(cell: CellSummary, wire: Interface) -> bool:
    """Whether packets wait in front of this card."""
    return any(w.name == wire.name and (w.waiting or 0.0) >= WAITS for w in cell.resources.cards)


def filled(points: Sequence[Point], wire: Interface) -> tuple[tuple[Point, ...], float]:
    """(the points in which packets wait in front of this card, or it carries nearly as much; the most with a queue)."""
    queued = [p for p in points if waits(p.upper, wire)]
    top = max((rate(p.upper, wire) for p in queued), default=math.inf)
    return tuple(p for p in points if p in queued or rate(p.upper, wire) >= AS_FULL * top), top


def with_room(view: View, part: float) -> tuple[Point, ...]:
    """The points in which neither the layer moves so large a part of its most, nor its card: what is sent again fills a
    wire, too."""
    met = card_of(view.affected)
    most = max((p.x * p.bs for p in view.points), default=0.0)
    passed = {p.key: rate(p.upper, met.wire) for p in view.points} if met is not None else {}
    full = part * max(passed.values(), default=0.0)
    return tuple(p for p in view.points if p.x * p.bs < part * most and passed.get(p.key, 0.0) <= full)


def _kind(wire: Interface) -> str:
    """``eth`` of ``eth0``, ``enp`` of ``enp3s0``: bridges and tunnels are no second card."""
    return re.sub(r"\d.*", "", wire.interface)


def evidence(view: View, card: FirstCard, points: Sequence[Point]) -> Evidence | None:
    """Operational: what the card's counters show; None where they only say that bytes passed."""
    said = []
    if card.full:
        said.append(f"{units.size(round(card.waiting))} queue in front of it on average")
    if card.idle is not None:
        said.append(f"{card.idle} carries nothing")
    if card.per_byte >= OTHERS:
        times = units.significant(card.per_byte, 2)
        said.append(f"that is {times} bytes for each byte of this layer: other traffic or copies use it, too")
    if not said:
        return None
    return operational(
        f"{card.wire.name} carries {units.rate(card.rate)}; {', '.join(said)}", tuple(view.cell(p) for p in points)
    )


def step(met: FirstCard | None) -> str:
    """What to do first about a wire that is full."""
    last = "Until it is faster, a faster disk gains nothing."
    if met is not None and met.idle is not None:
        return (
            f"Check that {met.wire.name} is the intended card, not {met.idle}: the routes and addresses of both ends "
            f"decide. {last}"
        )
    return f"Check the rate of the link that carries this layer and any limits set on it. {last}"
