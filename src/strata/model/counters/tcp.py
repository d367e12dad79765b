"""TCP: each connection of the path as the kernel sees it, and the segments of the whole node."""

from __future__ import annotations

from strata.model.counters.counter import Family, Over, Scope

CLIENT, SERVER = "client", "server"
"""Which end of a connection a node is: the label ``end``."""
# The port is that of the service, at either end; runs of earlier versions do not have it.
_CONNECTION, _NODE = Family("tcp_", Scope.CONNECTION, also=("port",)), Family("tcp_", Scope.NODE)

RTT = _CONNECTION.stands(
    "rtt_seconds", "s", "round-trip time of the connection, smoothed by the kernel", over=Over.MEAN
)
RTT_VARIATION = _CONNECTION.stands("rtt_variation_seconds", "s", "variation of the round-trip time", over=Over.MEAN)
MIN_RTT = _CONNECTION.stands(
    "min_rtt_seconds", "s", "minimum round-trip time of the connection in the last minutes", over=Over.MEAN
)
CWND = _CONNECTION.stands("cwnd", "segments", "congestion window: segments it may have in flight")
UNACKED = _CONNECTION.stands("unacked", "segments", "segments in flight")
UNSENT = _CONNECTION.stands("unsent_bytes", "B", "bytes not sent yet")
DELIVERY_RATE = _CONNECTION.stands("delivery_rate", "B/s", "last measured delivery rate")
RETRANSMITS = _CONNECTION.grows("retransmits", "segments", "segments retransmitted by the connection")
ACKED = _CONNECTION.grows("acked_bytes", "B", "bytes acknowledged by the other end")
RECEIVED = _CONNECTION.grows("received_bytes", "B", "bytes received")
BUSY = _CONNECTION.grows("busy_seconds", "s", "time with data to send")
RECEIVER_LIMITED = _CONNECTION.grows("receiver_limited_seconds", "s", "time limited by the receive window")
SENDER_LIMITED = _CONNECTION.grows("sender_limited_seconds", "s", "time limited by the send buffer")
SEGMENTS = _NODE.grows("segments", "segments", "segments of all connections", parts={"direction": ("in", "out")})
RESENT = _NODE.grows("retransmitted_segments", "segments", "segments retransmitted, of all connections")
