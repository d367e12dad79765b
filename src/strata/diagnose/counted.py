"""What the counters of one cell say of its nodes, as the rules ask it. Rates are per second."""

from __future__ import annotations

from dataclasses import dataclass

from strata.model.analysis import CellSummary
from strata.model.resources import Quota, Resent, place

__all__ = ["InterfaceLoad", "Quota", "Resent", "dropped_here", "quotas", "resent", "wires"]


def resent(cell: CellSummary) -> Resent | None:
    """Over all nodes whose counters were read; None where hardly anything was sent."""
    return cell.resources.resent


def dropped_here(cell: CellSummary) -> float:
    """Packets per second that queueing disciplines and interfaces of the nodes dropped themselves."""
    return cell.resources.dropped


def quotas(cell: CellSummary) -> tuple[Quota, ...]:
    """Every group with a quota, the most held back first."""
    return cell.resources.quotas


@dataclass(frozen=True)
class InterfaceLoad:
    """One interface of a node. ``sent``: bytes/s of the busier direction; ``waiting``: bytes in front of it, mean;
    ``held``: packets per second that had to wait for its rate."""

    node: str | None
    interface: str
    sent: float
    waiting: float | None
    held: float | None

    @property
    def name(self) -> str:
        """``eth1 of n2``."""
        return place(self.interface, self.node)


def wires(cell: CellSummary) -> tuple[InterfaceLoad, ...]:
    """Interfaces that are no loopback, the busiest first."""
    return tuple(InterfaceLoad(c.node, c.interface, c.most, c.waiting, c.held) for c in cell.resources.cards)
