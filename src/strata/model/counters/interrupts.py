"""Interrupts: the work the kernel does after them."""

from __future__ import annotations

from strata.model.counters.counter import Counter, Scope
from strata.model.series import SeriesKind

RUNS = Counter(
    "softirqs",
    "runs",
    SeriesKind.COUNTER,
    Scope.PROCESSOR,
    "number of softirq runs",
    aspects={"kind": ("net_rx", "net_tx", "block", "timer", "rcu")},
)
PACKETS = Counter(
    "softnet_packets", "packets", SeriesKind.COUNTER, Scope.PROCESSOR, "packets taken from the network cards"
)
DROPS = Counter(
    "softnet_drops",
    "packets",
    SeriesKind.COUNTER,
    Scope.PROCESSOR,
    "packets dropped because the queue of the CPU was full",
)
SQUEEZED = Counter(
    "softnet_squeezed",
    "times",
    SeriesKind.COUNTER,
    Scope.PROCESSOR,
    "times that the packet budget was used up with packets left",
)
