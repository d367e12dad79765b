"""Queueing disciplines: what waits, is dropped or held back before it leaves an interface."""

from __future__ import annotations

from strata.model.counters.counter import Counter, Scope
from strata.model.series import SeriesKind


def _of(name: str, unit: str, words: str, kind: SeriesKind = SeriesKind.COUNTER) -> Counter:
    # A discipline inside another one counts the same packets.
    return Counter(f"qdisc_{name}", unit, kind, Scope.QUEUE, words, nested="interface")


BYTES = _of("bytes", "B", "bytes that left the queue")
PACKETS = _of("packets", "packets", "packets that left the queue")
DROPS = _of("drops", "packets", "packets dropped in the queue of an interface")
REQUEUES = _of("requeues", "packets", "packets requeued because the card was not ready")
OVERLIMITS = _of("overlimits", "times", "times that a packet waited because of the rate limit")
BACKLOG_BYTES = _of("backlog_bytes", "B", "bytes waiting in the queue of an interface", SeriesKind.GAUGE)
BACKLOG_PACKETS = _of("backlog_packets", "packets", "packets waiting in the queue of an interface", SeriesKind.GAUGE)
