"""Interrupts: the work the kernel does after them."""

from __future__ import annotations

from strata.model.counters.counter import Family, Scope

_PROCESSOR = Family("", Scope.PROCESSOR)

RUNS = _PROCESSOR.grows(
    "softirqs", "runs", "number of softirq runs", aspects={"kind": ("net_rx", "net_tx", "block", "timer", "rcu")}
)
PACKETS = _PROCESSOR.grows("softnet_packets", "packets", "packets taken from the network cards")
DROPS = _PROCESSOR.grows("softnet_drops", "packets", "packets dropped because the queue of the CPU was full")
SQUEEZED = _PROCESSOR.grows("softnet_squeezed", "times", "times that the packet budget was used up with packets left")
