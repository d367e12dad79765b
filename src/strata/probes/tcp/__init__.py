"""TCP: each connection of the path as the kernel sees it, and the namespace's segments sent again.

Reads    INET_DIAG over netlink (what ``ss -ti`` shows) for connections from or to the ports it is given, and in the
         namespace of a node for every other one that moves something there; /proc/net/snmp.
Makes    with ``{peer=address:port, end=client|server, connection=0|1…, port=…}`` every counter of a connection that
         `strata.model.counters.tcp` declares, from struct tcp_info. Of the whole namespace:
         ``tcp_segments{direction=in|out}``, ``tcp_retransmitted_segments`` (segments, counter).
Costs    193 µs per sample with both ends of 1 connection; looking for new ones takes at most 0.2 % of the time.
Needs    tcp_diag; another namespace: CAP_SYS_ADMIN. At most 64 connections are followed.
Blind to RDMA; connections shorter than a sample; the far end's view (its window shows as receiver limited), unless
         the far end is a namespace of this machine, where it is followed too. ``connection`` counts them in the order
         they were seen. A closed one leaves a gap, not zeroes. ``port`` is the service's at either end, and so tells
         the connections of one layer from another's.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from strata.model.counters import Counter, tcp
from strata.model.series import SeriesKind
from strata.probes.netlink import SOCK_DIAG, Netlink
from strata.probes.port import Column, Probe, ProbeScope, net_file
from strata.probes.processes import Paced
from strata.probes.tcp.diag import ESTABLISHED, LISTEN, Socket, info, sockets, sockets_and_info

OF_NODE = True

MOST = 64
MOVES_BYTES = 4096
"""A connection that nobody named is followed when it has moved so much since it was first seen: others are idle."""
_WRAP = float(1 << 32)

_FIELDS = tuple(c for c in vars(tcp).values() if isinstance(c, Counter) and c.source is not None)
"""Of a connection: each says itself where the kernel has it."""

_SEGMENTS = (
    Column(tcp.SEGMENTS, {"direction": "in"}),
    Column(tcp.SEGMENTS, {"direction": "out"}),
    Column(tcp.RESENT),
)
_SNMP = (b"InSegs", b"OutSegs", b"RetransSegs")


class TcpProbe(Probe):
    """Of the namespace ``scope.netns``, connections from or to ``scope.ports``."""

    def __init__(self, scope: ProbeScope) -> None:
        super().__init__()
        self._ports = frozenset(scope.ports)
        self._netlink: Netlink | None = None
        self._followed: list[Socket] = []
        self._seen: set[bytes] = set()
        self._numbers: dict[tuple[str, str], int] = {}
        self._looks = Paced()
        self._served: frozenset[int] = frozenset()
        self._others: dict[bytes, int] = {}
        self._of_node = scope.netns is not None
        self._snmp = self.keep(net_file("snmp", scope), scope)
        if None not in self._whole():
            self.columns = _SEGMENTS
        self._namespace = len(self.columns)
        if (self._ports or self._of_node) and scope.sys.live:
            try:
                self._netlink = Netlink(SOCK_DIAG, scope.netns)
                self._kept.callback(self._netlink.close)
                self._served = frozenset(s.local_port for s in sockets(self._netlink, LISTEN) if self._of_node)
            except OSError as e:
                self.absent = (f"no connections: {e.strerror}",)

    def read(self) -> Sequence[float | None]:
        if self.closed:
            return [None] * len(self.columns)
        self._look()
        values: list[float | None] = self._whole()[: self._namespace]
        for one in self._followed:
            found: dict[str, int] | None = None
            if self._netlink is not None:
                with contextlib.suppress(OSError):
                    found = info(self._netlink, one)
            values += [_value(found, counter.source) for counter in _FIELDS]
        return values

    def _whole(self) -> list[float | None]:
        lines = [line.split() for line in self._snmp.read().split(b"\n") if line.startswith(b"Tcp:")]
        found = dict(zip(*lines[:2], strict=False)) if len(lines) >= 2 else {}
        return [int(found[name]) if name in found else None for name in _SNMP]

    def _look(self) -> None:
        if self._netlink is None or not self._looks.due:
            return
        with self._looks.timed():
            if not self._of_node:
                new = (one for one in sockets(self._netlink, ESTABLISHED) if self._named(one))
            else:
                seen = list(sockets_and_info(self._netlink, ESTABLISHED))
                # Those that were asked for first: there is a most.
                seen.sort(key=lambda found: not self._named(found[0]))
                new = (one for one, told in seen if self._named(one) or self._moves(one, told))
            for one in new:
                if one.key not in self._seen and len(self._followed) < MOST:
                    at_server = one.local_port in self._ports | self._served
                    self._follow(one, tcp.SERVER if at_server else tcp.CLIENT)

    def _named(self, one: Socket) -> bool:
        return one.local_port in self._ports or one.peer_port in self._ports

    def _moves(self, one: Socket, told: dict[str, int]) -> bool:
        moved = told.get("acked_bytes", 0) + told.get("received_bytes", 0)
        return moved - self._others.setdefault(one.key, moved) >= MOVES_BYTES

    def _follow(self, one: Socket, end: str) -> None:
        # A server's peers have ports of chance: its own address names the service.
        peer = f"{one.peer}:{one.peer_port}" if end == tcp.CLIENT else f"{one.peer}:*"
        number = self._numbers.get((end, peer), 0)
        self._numbers[end, peer] = number + 1
        self._seen.add(one.key)
        self._followed.append(one)
        port = one.peer_port if end == tcp.CLIENT else one.local_port
        labels = {"peer": peer, "end": end, "connection": str(number), "port": str(port)}
        self.columns += tuple(Column(counter, labels, _wraps(counter)) for counter in _FIELDS)


def _value(found: dict[str, int] | None, at: tcp.TcpInfo) -> float | None:
    if found is None or at.field not in found or found[at.field] == at.unknown:
        return None
    return found[at.field] * at.factor


def _wraps(counter: Counter) -> float | None:
    """Where a counter of 32 bits begins anew."""
    return _WRAP if counter.kind is SeriesKind.COUNTER and counter.source.form != tcp.LONG else None


open_probe = TcpProbe
