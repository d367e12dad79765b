"""TCP: each connection of the path as the kernel sees it, and the namespace's segments sent again.

Reads    INET_DIAG over netlink (what ``ss -ti`` shows) for connections from or to the ports it is given, and in the
         namespace of a node for every other one that moves something there; /proc/net/snmp.
Makes    with ``{peer=address:port, end=client|server, connection=0|1…, port=…}`` every counter of a connection that
         `strata.model.counters.tcp` declares, from struct tcp_info. Of the whole namespace:
         ``tcp_segments{direction=in|out}``, ``tcp_retransmitted_segments`` (segments, counter).
Costs    193 µs per sample with both ends of 1 connection; looking for new ones takes at most 0.2 % of the time.
Needs    tcp_diag; another namespace: CAP_SYS_ADMIN. At most 64 connections are followed at once.
Blind to RDMA; connections shorter than a sample; the far end's view (its window shows as receiver limited), unless
         the far end is a namespace of this machine, where it is followed too. ``connection`` counts those that are
         there at once, in the order they were seen: behind one that has closed comes the next of the same service,
         whose counters go on where its own ended. In between is a gap, not zeroes. Of 64 services that came and went
         in one recording the next is seen once its samples are taken. ``port`` is the service's at either end, and so
         tells the connections of one layer from another's.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import count

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


@dataclass
class _Place:
    """Of the connections of one service those that have the columns of one number, one after the other.

    ``one``: None once it is closed. ``last``: what was told of each field at last; ``added``: to each counter of the
    one that is there, so that it goes on from there; None until it was read.
    """

    end: str
    peer: str
    port: int
    number: int
    one: Socket | None
    last: list[float | None] = field(default_factory=lambda: [None] * len(_FIELDS))
    added: list[float | None] = field(default_factory=lambda: [None] * len(_FIELDS))

    @property
    def service(self) -> tuple[str, str, int]:
        return self.end, self.peer, self.port

    def follow(self, one: Socket) -> None:
        """After one that has closed."""
        self.one, self.added = one, [None] * len(_FIELDS)

    def told(self, found: dict[str, int] | None) -> list[float | None]:
        """The value of each field; None where it is not known."""
        values = [_value(found, counter.source) for counter in _FIELDS]
        for at, (counter, value) in enumerate(zip(_FIELDS, values, strict=True)):
            if value is None or counter.kind is not SeriesKind.COUNTER:
                continue
            added, last = self.added[at], self.last[at]
            if added is None:
                added = self.added[at] = 0.0 if last is None else last - value
            self.last[at] = values[at] = value + added
        return values


class TcpProbe(Probe):
    """Of the namespace ``scope.netns``, connections from or to ``scope.ports``."""

    def __init__(self, scope: ProbeScope) -> None:
        super().__init__()
        self._ports = frozenset(scope.ports)
        self._netlink: Netlink | None = None
        self._places: list[_Place] = []
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
        for place in self._places:
            values += place.told(self._info(place))
        return values

    def forget(self) -> Collection[int]:
        """Where all places are taken, those of services whose connection is closed make room."""
        if len(self._places) < MOST:
            return ()
        width, kept, columns, gone = len(_FIELDS), list[_Place](), list(self.columns[: self._namespace]), set[int]()
        for at, place in enumerate(self._places):
            own = range(self._namespace + at * width, self._namespace + (at + 1) * width)
            if place.one is None:
                gone |= set(own)
            else:
                kept.append(place)
                columns += self.columns[own.start : own.stop]
        self._places, self.columns = kept, tuple(columns)
        return gone

    def _info(self, place: _Place) -> dict[str, int] | None:
        if place.one is None or self._netlink is None:
            return None
        try:
            found = info(self._netlink, place.one)
        except OSError:
            # Refused, or too late: it may be told the next time.
            return None
        if not found:
            # Of one that is closed there is nothing to tell, whether or not the kernel still has its addresses.
            place.one = None
        return found

    def _whole(self) -> list[float | None]:
        lines = [line.split() for line in self._snmp.read().split(b"\n") if line.startswith(b"Tcp:")]
        found = dict(zip(*lines[:2], strict=False)) if len(lines) >= 2 else {}
        return [int(found[name]) if name in found else None for name in _SNMP]

    def _look(self) -> None:
        if self._netlink is None or not self._looks.due:
            return
        with self._looks.timed():
            if not self._of_node:
                self._follow_all(one for one in sockets(self._netlink, ESTABLISHED) if self._named(one))
                return
            seen = list(sockets_and_info(self._netlink, ESTABLISHED))
            # Those that were asked for first: there is a most.
            seen.sort(key=lambda found: not self._named(found[0]))
            self._follow_all(one for one, told in seen if self._named(one) or self._moves(one, told))
            there = {one.key for one, _ in seen}
            self._others = {key: moved for key, moved in self._others.items() if key in there}

    def _follow_all(self, new: Iterable[Socket]) -> None:
        followed = {place.one.key for place in self._places if place.one is not None}
        for one in new:
            if one.key not in followed:
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
        port = one.peer_port if end == tcp.CLIENT else one.local_port
        alike = [place for place in self._places if place.service == (end, peer, port)]
        if (free := next((place for place in alike if place.one is None), None)) is not None:
            free.follow(one)
            return
        if len(self._places) >= MOST:
            return
        taken = {place.number for place in self._places if (place.end, place.peer) == (end, peer)}
        place = _Place(end, peer, port, next(n for n in count() if n not in taken), one)
        self._places.append(place)
        labels = {"peer": peer, "end": end, "connection": str(place.number), "port": str(port)}
        self.columns += tuple(Column(counter, labels, _wraps(counter)) for counter in _FIELDS)


def _value(found: dict[str, int] | None, at: tcp.TcpInfo) -> float | None:
    if found is None or at.field not in found or found[at.field] == at.unknown:
        return None
    return found[at.field] * at.factor


def _wraps(counter: Counter) -> float | None:
    """Where a counter of 32 bits begins anew."""
    return _WRAP if counter.kind is SeriesKind.COUNTER and counter.source.form != tcp.LONG else None


open_probe = TcpProbe
