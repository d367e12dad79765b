"""TCP: each connection of the path as the kernel sees it, and the segments of the whole node."""

from __future__ import annotations

from typing import NamedTuple

from strata.model.counters.counter import Family, Over, Scope

CLIENT, SERVER = "client", "server"
"""Which end of a connection a node is: the label ``end``."""
_US, LONG = 1e-6, "=Q"


class TcpInfo(NamedTuple):
    """Where the kernel's ``struct tcp_info`` has it: our word for the field, its offset and form (as of `struct`).

    ``factor``: of our unit, one of the kernel's; ``unknown``: its word for "not measured yet".
    """

    field: str
    offset: int
    form: str = "=I"
    factor: float = 1
    unknown: int | None = None


# The port is that of the service, at either end; runs of earlier versions do not have it.
_CONNECTION, _NODE = Family("tcp_", Scope.CONNECTION, also=("port",)), Family("tcp_", Scope.NODE)
_TIME = Family("tcp_", Scope.CONNECTION, also=("port",), over=Over.MEAN)
_SHORTEST = TcpInfo("min_rtt_us", 148, factor=_US, unknown=0xFFFFFFFF)

RTT = _TIME.stands(
    "rtt_seconds",
    "s",
    "round-trip time of the connection, smoothed by the kernel",
    source=TcpInfo("rtt_us", 68, factor=_US),
)
RTT_VARIATION = _TIME.stands(
    "rtt_variation_seconds", "s", "variation of the round-trip time", source=TcpInfo("rttvar_us", 72, factor=_US)
)
MIN_RTT = _TIME.stands(
    "min_rtt_seconds", "s", "minimum round-trip time of the connection in the last minutes", source=_SHORTEST
)
CWND = _CONNECTION.stands(
    "cwnd", "segments", "congestion window: segments it may have in flight", source=TcpInfo("cwnd", 80)
)
UNACKED = _CONNECTION.stands("unacked", "segments", "segments in flight", source=TcpInfo("unacked", 24))
UNSENT = _CONNECTION.stands("unsent_bytes", "B", "bytes not sent yet", source=TcpInfo("notsent_bytes", 144))
DELIVERY_RATE = _CONNECTION.stands(
    "delivery_rate", "B/s", "last measured delivery rate", source=TcpInfo("delivery_rate", 160, LONG)
)
RETRANSMITS = _CONNECTION.grows(
    "retransmits", "segments", "segments retransmitted by the connection", source=TcpInfo("retransmits", 100)
)
HAD_ALREADY = _CONNECTION.grows(
    "duplicates",
    "segments",
    "segments that the other end had received already (DSACK), from Linux 5.4 on",
    source=TcpInfo("dsack_dups", 216),
)
ACKED = _CONNECTION.grows(
    "acked_bytes", "B", "bytes acknowledged by the other end", source=TcpInfo("acked_bytes", 120, LONG)
)
RECEIVED = _CONNECTION.grows("received_bytes", "B", "bytes received", source=TcpInfo("received_bytes", 128, LONG))
BUSY = _CONNECTION.grows("busy_seconds", "s", "time with data to send", source=TcpInfo("busy_us", 168, LONG, _US))
RECEIVER_LIMITED = _CONNECTION.grows(
    "receiver_limited_seconds",
    "s",
    "time limited by the receive window",
    source=TcpInfo("rwnd_limited_us", 176, LONG, _US),
)
SENDER_LIMITED = _CONNECTION.grows(
    "sender_limited_seconds",
    "s",
    "time limited by the send buffer",
    source=TcpInfo("sndbuf_limited_us", 184, LONG, _US),
)
SEGMENTS = _NODE.grows("segments", "segments", "segments of all connections", parts={"direction": ("in", "out")})
RESENT = _NODE.grows("retransmitted_segments", "segments", "segments retransmitted, of all connections")
