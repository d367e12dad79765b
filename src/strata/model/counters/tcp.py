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


RTT = _gauge("rtt_seconds", "s", "round trip of the connection, smoothed by the kernel", Over.MEAN)
RTT_VARIATION = _gauge("rtt_variation_seconds", "s", "how much the round trip varies", Over.MEAN)
MIN_RTT = _gauge("min_rtt_seconds", "s", "the connection's least round trip of the last minutes", Over.MEAN)
CWND = _gauge("cwnd", "segments", "segments it may have under way")
UNACKED = _gauge("unacked", "segments", "segments under way")
UNSENT = _gauge("unsent_bytes", "B", "bytes that were not sent yet")
DELIVERY_RATE = _gauge("delivery_rate", "B/s", "rate at which it last delivered")
RETRANSMITS = _grows("retransmits", "segments", "segments the connection sent again")
ACKED = _grows("acked_bytes", "B", "bytes the other end has acknowledged")
RECEIVED = _grows("received_bytes", "B", "bytes received")
BUSY = _grows("busy_seconds", "s", "time in which it had something to send")
RECEIVER_LIMITED = _grows("receiver_limited_seconds", "s", "time in which the receiver's window held it back")
SENDER_LIMITED = _grows("sender_limited_seconds", "s", "time in which the sender's buffer held it back")
SEGMENTS = Counter(
    "tcp_segments",
    "segments",
    SeriesKind.COUNTER,
    Scope.NODE,
    "segments of all connections",
    parts={"direction": ("in", "out")},
)
RESENT = Counter(
    "tcp_retransmitted_segments", "segments", SeriesKind.COUNTER, Scope.NODE, "segments sent again, of all connections"
)
