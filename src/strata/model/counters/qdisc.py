"""Queueing disciplines: what waits, is dropped or held back before it leaves an interface."""

from __future__ import annotations

from strata.model.counters.counter import Family, Scope

# A discipline inside another one counts the same packets.
_QUEUE = Family("qdisc_", Scope.QUEUE, nested="interface")

BYTES = _QUEUE.grows("bytes", "B", "bytes that left the queue")
PACKETS = _QUEUE.grows("packets", "packets", "packets that left the queue")
DROPS = _QUEUE.grows("drops", "packets", "packets dropped in the queue of an interface")
REQUEUES = _QUEUE.grows("requeues", "packets", "packets requeued because the card was not ready")
OVERLIMITS = _QUEUE.grows("overlimits", "times", "times that a packet waited because of the rate limit")
BACKLOG_BYTES = _QUEUE.stands("backlog_bytes", "B", "bytes waiting in the queue of an interface")
BACKLOG_PACKETS = _QUEUE.stands("backlog_packets", "packets", "packets waiting in the queue of an interface")
