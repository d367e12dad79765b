"""What the counters of one cell say of its nodes. Rates are per second; what was not read is None, never 0."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from strata.model.analysis import CellSummary
from strata.model.series import counter_labels

QUIET_SEGMENTS = 20.0
"""Segments per second below which a share of them says nothing."""


def of(cell: CellSummary, metric: str) -> Iterator[tuple[dict[str, str], float]]:
    """(labels, value) of every series of this metric."""
    for key, value in cell.counters.items():
        if key.startswith(metric):
            name, labels = counter_labels(key)
            if name == metric:
                yield labels, value


def at(labels: dict[str, str]) -> str:
    """`` of n1``; empty for this machine."""
    return f" of {labels['node']}" if "node" in labels else ""


@dataclass(frozen=True)
class Resent:
    """TCP segments per second that were sent again, their share of all that were sent, and the node with most."""

    rate: float
    share: float
    where: str


def resent(cell: CellSummary) -> Resent | None:
    """Over all nodes whose counters were read; None where hardly anything was sent."""
    again = {labels.get("node"): value for labels, value in of(cell, "tcp_retransmitted_segments")}
    sent = sum(value for labels, value in of(cell, "tcp_segments") if labels.get("direction") == "out")
    if not again or sent < QUIET_SEGMENTS:
        return None
    rate = sum(again.values())
    worst = max(again, key=lambda node: again[node])
    return Resent(rate, rate / sent, worst or "this machine")


def dropped_here(cell: CellSummary) -> float:
    """Packets per second that queueing disciplines and interfaces of the nodes dropped themselves."""
    return sum(value for metric in ("qdisc_drops", "net_drops") for _, value in of(cell, metric))


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
    periods = {(x.get("node"), x["cgroup"]): value for x, value in of(cell, "cgroup_periods")}
    held = {(x.get("node"), x["cgroup"]): value for x, value in of(cell, "cgroup_throttled_periods")}
    process = {(x.get("node"), x["cgroup"]): x.get("process") for x, _ in of(cell, "cgroup_periods")}
    found = []
    for (node, group), value in periods.items():
        if value <= 0 or (node, group) not in held:
            continue
        found.append(Quota(group, node, min(1.0, held[node, group] / value), process.get((node, group))))
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
    busiest: dict[tuple[str | None, str], float] = {}
    for x, value in of(cell, "net_bytes"):
        if x["interface"] != "lo":
            key = x.get("node"), x["interface"]
            busiest[key] = max(busiest.get(key, 0.0), value)
    waiting = _per_wire(cell, "qdisc_backlog_bytes")
    held = _per_wire(cell, "qdisc_overlimits")
    found = [Wire(*key, value, waiting.get(key), held.get(key)) for key, value in busiest.items()]
    return tuple(sorted(found, key=lambda w: -w.sent))


def _per_wire(cell: CellSummary, metric: str) -> dict[tuple[str | None, str], float]:
    found: dict[tuple[str | None, str], float] = {}
    for x, value in of(cell, metric):
        key = x.get("node"), x["interface"]
        # Nested disciplines count the same packets.
        found[key] = max(found.get(key, 0.0), value)
    return found
