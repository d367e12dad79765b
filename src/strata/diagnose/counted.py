"""What the counters of one cell say of its nodes. Rates are per second; what was not read is None, never 0."""

from __future__ import annotations

from dataclasses import dataclass

from strata.model.analysis import CellSummary
from strata.model.counters import Counter, Key, cgroup, net, qdisc, tcp

QUIET_SEGMENTS = 20.0
"""Segments per second below which a share of them says nothing."""


@dataclass(frozen=True)
class Resent:
    """TCP segments per second that were sent again, their share of all that were sent, and the node with most."""

    rate: float
    share: float
    where: str


def resent(cell: CellSummary) -> Resent | None:
    """Over all nodes whose counters were read; None where hardly anything was sent."""
    told = cell.readings
    rate, sent, worst = told.total(tcp.RESENT), told.total(tcp.SEGMENTS, direction="out"), told.largest(tcp.RESENT)
    if rate is None or worst is None or sent is None or sent < QUIET_SEGMENTS:
        return None
    return Resent(rate, rate / sent, worst.node or "this machine")


def dropped_here(cell: CellSummary) -> float:
    """Packets per second that queueing disciplines and interfaces of the nodes dropped themselves."""
    return sum(cell.readings.total(counter) or 0.0 for counter in (qdisc.DROPS, net.DROPS))


@dataclass(frozen=True)
class Quota:
    """A control group with a processor quota: share of its periods in which it was held back.

    ``process`` None: the group that Strata runs in.
    """

    group: str
    node: str | None
    share: float
    process: str | None

    @property
    def own(self) -> bool:
        """Whether it is the load generator's own."""
        return self.node is None and self.process is None

    @property
    def where(self) -> str:
        """``qemu-nbd on n1``, or the group's name."""
        who = self.process or self.group
        return who if self.node is None else f"{who} on {self.node}"


def quotas(cell: CellSummary) -> tuple[Quota, ...]:
    """Every group with a quota, the most held back first."""
    found = []
    for one in cell.readings.of(cgroup.PERIODS):
        held = cell.readings.value(
            cgroup.THROTTLED_PERIODS, cgroup=one["cgroup"], node=one.node, process=one.get("process")
        )
        if one.value > 0 and held is not None:
            found.append(Quota(one["cgroup"], one.node, min(1.0, held / one.value), one.get("process")))
    return tuple(sorted(found, key=lambda q: -q.share))


@dataclass(frozen=True)
class Wire:
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
        return self.interface if self.node is None else f"{self.interface} of {self.node}"


def wires(cell: CellSummary) -> tuple[Wire, ...]:
    """Interfaces that are no loopback, the busiest first."""
    waiting, held = _per_wire(cell, qdisc.BACKLOG_BYTES), _per_wire(cell, qdisc.OVERLIMITS)
    busiest: dict[tuple[str | None, str], float] = {}
    for r in cell.readings.of(net.BYTES):
        if r["interface"] != net.LOOPBACK:
            key = r.node, r["interface"]
            busiest[key] = max(busiest.get(key, 0.0), r.value)
    found = [Wire(*key, value, waiting.get(key), held.get(key)) for key, value in busiest.items()]
    return tuple(sorted(found, key=lambda w: -w.sent))


def _per_wire(cell: CellSummary, counter: Counter) -> dict[Key, float]:
    return cell.readings.each(counter, "node", "interface")
