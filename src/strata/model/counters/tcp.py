"""TCP: each connection of the path as the kernel sees it, and the segments of the whole node."""

from __future__ import annotations

from strata.model.counters.counter import Counter, Over, Scope
from strata.model.series import SeriesKind

CLIENT, SERVER = "client", "server"
"""Which end of a connection a node is: the label ``end``."""
_ALSO = ("port",)
"""Of the service, at either end; runs of earlier versions do not have it."""


def _gauge(name: str, unit: str, words: str, over: Over = Over.SUM) -> Counter:
    return Counter(f"tcp_{name}", unit, SeriesKind.GAUGE, Scope.CONNECTION, words, over, also=_ALSO)


def _grows(name: str, unit: str, words: str) -> Counter:
    return Counter(f"tcp_{name}", unit, SeriesKind.COUNTER, Scope.CONNECTION, words, also=_ALSO)


RTT = _gauge("rtt_seconds", "s", "round-trip time of the connection, smoothed by the kernel", Over.MEAN)
RTT_VARIATION = _gauge("rtt_variation_seconds", "s", "variation of the round-trip time", Over.MEAN)
MIN_RTT = _gauge("min_rtt_seconds", "s", "minimum round-trip time of the connection in the last minutes", Over.MEAN)
CWND = _gauge("cwnd", "segments", "congestion window: segments it may have in flight")
UNACKED = _gauge("unacked", "segments", "segments in flight")
UNSENT = _gauge("unsent_bytes", "B", "bytes not sent yet")
DELIVERY_RATE = _gauge("delivery_rate", "B/s", "last measured delivery rate")
RETRANSMITS = _grows("retransmits", "segments", "segments retransmitted by the connection")
ACKED = _grows("acked_bytes", "B", "bytes acknowledged by the other end")
RECEIVED = _grows("received_bytes", "B", "bytes received")
BUSY = _grows("busy_seconds", "s", "time with data to send")
RECEIVER_LIMITED = _grows("receiver_limited_seconds", "s", "time limited by the receive window")
SENDER_LIMITED = _grows("sender_limited_seconds", "s", "time limited by the send buffer")
SEGMENTS = Counter(
    "tcp_segments",
    "segments",
    SeriesKind.COUNTER,
    Scope.NODE,
    "segments of all connections",
    parts={"direction": ("in", "out")},
)
RESENT = Counter(
    "tcp_retransmitted_segments",
    "segments",
    SeriesKind.COUNTER,
    Scope.NODE,
    "segments retransmitted, of all connections",
)
