"""How often a byte crosses a wire on its way: 0 on the node that has it, 1 elsewhere, r more for r further copies.

Bytes that all nodes of the stack send for each byte of the application: reads 0 and writes r on the owner, reads 1 and
writes 1 + r on a node that reaches the data through the owner, r being the copies beyond the owner's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from strata.model.analysis import CellSummary

CROSSES, STAYS = 0.7, 0.3
"""Bytes for each byte from which on it crosses once, and up to which it does not: heads are a few per cent, and small
writes carry the file system's own beside them."""


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
