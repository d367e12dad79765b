"""How often a byte of our own cells crosses a wire on its way, by the bytes that all nodes of the stack send for it.

What follows from that is `strata.analyse.laws.base`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from strata.analyse.laws.base import CROSSES, STAYS
from strata.model.analysis import CellSummary


@dataclass(frozen=True)
class Crossing:
    """``sent`` and ``received``: by node, for each byte of the application."""

    sent: Mapping[str, float] = field(default_factory=dict)
    received: Mapping[str, float] = field(default_factory=dict)

    @property
    def times(self) -> float:
        """How often a byte crosses a wire."""
        return sum(self.sent.values())

    @property
    def sources(self) -> tuple[str, ...]:
        """Nodes that send it and have not received it: those that have the data."""
        return tuple(n for n, b in self.sent.items() if b >= CROSSES and self.received.get(n, 0.0) <= STAYS)

    @property
    def relays(self) -> tuple[str, ...]:
        """Nodes that receive it and send it on."""
        return tuple(n for n, b in self.sent.items() if b >= CROSSES and self.received.get(n, 0.0) >= CROSSES)


def reads(cells: Iterable[CellSummary]) -> Crossing | None:
    """Of the largest reads; None where no node's cards were counted."""
    return _of([c for c in cells if not c.workload.rw.writes])


def writes(cells: Iterable[CellSummary]) -> Crossing | None:
    """Of the largest writes; None where no node's cards were counted."""
    return _of([c for c in cells if not c.workload.rw.reads])


def _of(cells: list[CellSummary]) -> Crossing | None:
    known = [c for c in cells if any(card.node is not None for card in c.resources.cards)]
    if not known:
        return None
    cell = max(known, key=lambda c: c.workload.bs_moments[0])
    sent: dict[str, float] = {}
    received: dict[str, float] = {}
    for card in cell.resources.cards:
        if card.node is not None:
            sent[card.node] = sent.get(card.node, 0.0) + (card.sent_per_byte or 0.0)
            received[card.node] = received.get(card.node, 0.0) + (card.received_per_byte or 0.0)
    return Crossing(sent, received)
