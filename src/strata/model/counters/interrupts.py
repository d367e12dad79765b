"""Interrupts: the work the kernel does after them."""

from __future__ import annotations

from strata.model.counters.counter import Counter, Scope
from strata.model.series import SeriesKind

RUNS = Counter(
    "softirqs",
    "runs",
    SeriesKind.COUNTER,
    Scope.PROCESSOR,
    "times that work after an interrupt was done",
    aspects={"kind": ("net_rx", "net_tx", "block", "timer", "rcu")},
)
PACKETS = Counter("softnet_packets", "packets", SeriesKind.COUNTER, Scope.PROCESSOR, "packets taken from the cards")
DROPS = Counter(
    "softnet_drops", "packets", SeriesKind.COUNTER, Scope.PROCESSOR, "packets for which the processor's queue was full"
)
SQUEEZED = Counter(
    "softnet_squeezed",
    "times",
    SeriesKind.COUNTER,
    Scope.PROCESSOR,
    "the budget for packets was used up while packets were left",
)
