"""The observation as the rules ask for it: the span in which there was a load, its devices, its requests, its pace."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import urlsplit

from strata.analyse.watch import pacing
from strata.analyse.watch.pacing import Alone, Burst, Pace
from strata.model.counters import Counter, Reading, Readings, target, tcp
from strata.model.expect import LARGE
from strata.model.resources import Disk, Resources, place
from strata.model.stack import Layer
from strata.model.watch import LOOKS_FEWEST, Arrival, Issuer, Observed, Sharer

ACTIVE = 0.05
"""Of the busiest piece: below it a piece has no load to judge."""
IDLE_IOPS = 3.0
IDLE_BYTES = 64 << 10
LOAD = 0.05
"""Of the requests at the device, from which on who issues them belongs to the load."""
OWN = 0.01
"""Of the requests at the device: a command that has fewer may issue none itself."""
PINNED, EXCEEDED, FEWEST_DEPTHS = 0.8, 0.01, 50
"""Of what is hardly ever exceeded, that is there on average; of the requests that exceed it (a journal's, of others);
requests of which a depth is told."""
STEADY, IN_FRONT, PART = 0.95, 0.75, 0.15
"""Of what is hardly ever exceeded, that is there all the time; requests, and of the outstanding ones the share, from
which on they wait in front of a server."""
SMALL_BYTES = 8 << 10
"""The random reads that a specification speaks of."""
NO_QUEUE = 1.2
"""Of the time that a request takes by itself: who takes no longer has not waited for others."""


@dataclass(frozen=True)
class Spec:
    """What the specification of a medium says of one request: its time, and how many are served at once."""

    small_ns: float
    at_once: int
    per_byte_ns: float

    def service_ns(self, size: float) -> float:
        """Of a request of that size, by a straight line through the two sizes that are stated."""
        return self.small_ns + max(0.0, size - SMALL_BYTES) * self.per_byte_ns


class LoadView:
    """One observation. What was not seen is None."""

    def __init__(self, seen: Observed) -> None:
        self.seen = seen

    @cached_property
    def lowest(self) -> Layer:
        """The layer of the medium."""
        return self.seen.stack.layers[0]

    @cached_property
    def top(self) -> Layer:
        """The layer that the load enters."""
        return self.seen.stack.layers[-1]

    @cached_property
    def remote(self) -> bool:
        """Whether it goes over a wire."""
        return self.top.target.remote

    @cached_property
    def served(self) -> bool:
        """Whether it goes over a wire, and there is any."""
        moved = max((c.most for c in self.resources.cards), default=0.0)
        return self.remote and (self.iops >= IDLE_IOPS or moved >= IDLE_BYTES)

    @cached_property
    def whole(self) -> Resources:
        """The counters over all the time; rates are read from it, demands are not."""
        return Resources(self.seen.readings(), 1.0, 1.0)

    @cached_property
    def device(self) -> tuple[str, str | None] | None:
        """The device that the requests enter first, and its node; of another machine the one that does most."""
        counted = self.whole.disks
        there = {(d.device, d.node) for d in counted}
        reached = [self.seen.reaches(layer.name) for layer in reversed(self.seen.stack.layers)]
        for one in ((n, r.node) for r in reached for n in (*r.carriers[:1], *r.devices)):
            if one in there:
                return one
        away = max((d for d in counted if d.node is not None), key=lambda d: d.reads + d.writes, default=None)
        return None if away is None else (away.device, away.node)

    @property
    def device_name(self) -> str | None:
        """What it is called."""
        return None if self.device is None else place(*self.device)

    @cached_property
    def span(self) -> tuple[int, int]:
        """The pieces from the first to the last with a load (one behind it); the pieces at its edges are cut."""
        last = len(self.seen.bins) - 1
        load = [self.load(i) for i in range(last)]
        most = max(load, default=0.0)
        active = [i for i, x in enumerate(load) if x >= ACTIVE * most and x > 0]
        if not active:
            return 0, last
        first, end = active[0], active[-1] + 1
        return (first + 1, end - 1) if end - first > 4 else (first, end)

    @cached_property
    def _pieces(self) -> tuple[Resources, ...]:
        """The counters of each piece of the time by itself: the span and every course are made of them."""
        return tuple(Resources(self.seen.readings(i, i + 1), 1.0, 1.0) for i in range(len(self.seen.bins) - 1))

    def load(self, piece: int) -> float:
        """I/Os per second at the device, or bytes of the wires where there is none, in one piece."""
        if self.device is not None:
            disk = self._pieces[piece].disk(*self.device)
            return 0.0 if disk is None else disk.reads + disk.writes
        return sum(card.most for card in self._pieces[piece].cards)

    def course(self, of: Callable[[Disk], float | None]) -> tuple[float | None, ...]:
        """A figure of the device in each piece of the span."""
        found = []
        for piece in range(*self.span):
            disk = None if self.device is None else self._pieces[piece].disk(*self.device)
            found.append(None if disk is None else of(disk))
        return tuple(found)

    @cached_property
    def told(self) -> Readings:
        """The counters over the span of the load."""
        return self.seen.readings(*self.span)

    @cached_property
    def resources(self) -> Resources:
        """Of one I/O per second: rates are read from it, demands are not."""
        return Resources(self.told, self.iops, self.bytes_per_s)

    @cached_property
    def disk(self) -> Disk | None:
        """The device that the requests enter first, in the span."""
        return None if self.device is None else Resources(self.told, 1.0, 1.0).disk(*self.device)

    @cached_property
    def iops(self) -> float:
        """At the device."""
        return 0.0 if self.disk is None else self.disk.reads + self.disk.writes

    @cached_property
    def bytes_per_s(self) -> float:
        """The same in bytes."""
        return 0.0 if self.disk is None else self.disk.read_bytes + self.disk.write_bytes

    @property
    def in_flight(self) -> float | None:
        """At the device, mean."""
        return None if self.disk is None else self.disk.in_flight

    @property
    def busy(self) -> float | None:
        """Share of the time with a request at the device."""
        return None if self.disk is None else self.disk.busy

    @cached_property
    def request_ns(self) -> float | None:
        """Of one request at the device, queue included (Little)."""
        return self.in_flight / self.iops * 1e9 if self.in_flight is not None and self.iops >= 1 else None

    @cached_property
    def size(self) -> float:
        """Mean bytes of a request at the device."""
        return self.bytes_per_s / self.iops if self.iops >= 1 else 0.0

    @cached_property
    def arrivals(self) -> tuple[Arrival, ...]:
        """What was traced at the device."""
        return tuple(
            a
            for a in self.seen.arrivals
            if self.device == (a.device, a.node) and a.summary.read.requests + a.summary.write.requests
        )

    @cached_property
    def steady(self) -> Arrival | None:
        """The trace with the most requests that are kept, away from the beginning where there is another."""
        kept = [a for a in self.arrivals if a.requests is not None]
        later = [a for a in kept if a.from_s > 0.5] or kept
        return max(later, key=lambda a: a.requests.count if a.requests else 0, default=None)

    @cached_property
    def pace(self) -> Pace | None:
        """How the device paces its completions."""
        found = [p for a in self.arrivals if a.requests is not None and (p := pacing.pace(a.requests)) is not None]
        return max(found, key=lambda p: p.requests, default=None)

    @property
    def pace_queued(self) -> bool | None:
        """Whether requests wait for a server of the device; None where its pace is not seen. Where each of them takes
        as long as by itself, none waits, and an even pace is that of their arrivals.
        """
        if self.pace is None or self.in_flight is None:
            return None
        return self.in_flight >= 1.25 * self.pace.at_once and not self.unhindered

    @cached_property
    def unhindered(self) -> bool:
        """Whether requests at the device take no longer than one by itself does: by the specification, and by those
        that met nobody, where there are any. False where neither is known.
        """
        known = [
            *([] if self.spec is None else [self.spec.service_ns(self.size)]),
            *([] if self.alone is None else [self.alone.median_ns]),
        ]
        return bool(known) and self.request_ns is not None and self.request_ns <= NO_QUEUE * min(known)

    @cached_property
    def alone(self) -> Alone | None:
        """Requests that met nobody."""
        return pacing.alone([a.requests for a in self.arrivals if a.requests is not None])

    @cached_property
    def rested(self) -> Alone | None:
        """Requests that came when the device had had nothing for the time between two completions of its pace."""
        if self.pace is None or self.pace.at_once != 1:
            return None
        return pacing.rested([a.requests for a in self.arrivals if a.requests is not None], self.pace.service_ns)

    @cached_property
    def together(self) -> float | None:
        """Share of the requests that came to the device while another one was there."""
        return pacing.together([a.requests for a in self.arrivals if a.requests is not None])

    @cached_property
    def most_together(self) -> int | None:
        """Requests at the device that are hardly ever exceeded, where as many are there most of the time: whoever
        issues them has no more at once.
        """
        depths = [a.depths for a in self.arrivals if a.depths]
        tops = {_hardly_exceeded(one) for one in depths}
        if len(tops) != 1 or self.in_flight is None:
            return None
        most = tops.pop()
        total = sum(n for one in depths for _, n in one)
        there = sum(n for one in depths for depth, n in one if depth >= most)
        # At their issue: those that are issued together find each depth once.
        alike = total >= FEWEST_DEPTHS and there * most >= PINNED * total
        return most if alike and PINNED * most <= self.in_flight <= most + EXCEEDED * most + 0.1 else None

    @cached_property
    def burst(self) -> Burst | None:
        """Requests that came together to an idle device."""
        return pacing.burst([a.requests for a in self.arrivals if a.requests is not None])

    @cached_property
    def spec(self) -> Spec | None:
        """Of the lowest layer, where its stack file states one."""
        expect = self.lowest.expect
        if expect.latency_ns is None:
            return None
        small = float(expect.latency_ns)
        at_once = 1 if expect.iops is None else max(1, round(expect.iops * small / 1e9))
        rate = expect.bytes_per_s
        slope = max(0.0, (at_once * LARGE / rate * 1e9 - small) / (LARGE - SMALL_BYTES)) if rate else 0.0
        return Spec(small, at_once, slope)

    @cached_property
    def sharers(self) -> tuple[Sharer, ...]:
        """Who had requests at the device, over all traces, by their share."""
        found: dict[int, Sharer] = {}
        weight = [(a, a.summary.read.requests + a.summary.write.requests) for a in self.arrivals]
        total = sum(n for _, n in weight) or 1
        for arrival, n in weight:
            for one in arrival.sharers:
                before = found.get(one.pid)
                share = one.share * n / total + (before.share if before else 0.0)
                found[one.pid] = one.model_copy(update={"share": share})
        return tuple(sorted(found.values(), key=lambda s: -s.share))

    @cached_property
    def watched(self) -> tuple[Issuer, ...]:
        """The processes of the load: the command's, or whoever has requests at the device; untraced, who issues
        most.
        """
        mine = tuple(i for i in self.seen.issuers if i.watched)
        if mine or self.seen.ran is not None:
            return mine
        if self.remote:
            # What has requests at the device there is a server; who asks it is not told by that.
            return ()
        at_device = {s.pid for s in self.sharers if not s.kernel and s.share >= LOAD}
        node = self.seen.reaches(self.top.name).node
        there = tuple(i for i in self.seen.issuers if i.node == node)
        at_it = self.device is not None and self.device[1] == node
        return tuple(i for i in there if at_it and i.pid in at_device) or there[:1]

    @cached_property
    def issuing(self) -> tuple[Issuer, ...]:
        """The processes of the load, and those that serve them: a database issues what its client asks for."""
        serving = set(self.seen.serving) - {i.pid for i in self.watched if i.node is None} - set(self.seen.servers)
        return (*self.watched, *(i for i in self.seen.issuers if i.node is None and i.pid in serving))

    @property
    def beside(self) -> tuple[Issuer, ...]:
        """Who issues on the machine of the device, the load's own among them."""
        node = None if self.device is None else self.device[1]
        return tuple(i for i in self.seen.issuers if i.node == node)

    @cached_property
    def mine(self) -> frozenset[int]:
        """Processes of the device's machine whose requests are the load's: its own, those of who serves it, and of the
        servers that issue them for it.
        """
        names = {s.name for s in self.resources.servers} if not self.seen.servers else set()
        # Processes that serve are known of this machine alone.
        here = self.device is not None and self.device[1] is None
        servers = {*self.seen.servers, *self.seen.serving, *self.seen.family} if here else set()
        served = {s.pid for s in self.sharers if s.pid in servers or s.name in names or self._of_a_moment(s)}
        return frozenset({i.pid for i in self.issuing if i in self.beside} | served)

    def _of_a_moment(self, one: Sharer) -> bool:
        """Whether it is called as a process of the command and was never seen itself: programs that a command begins
        again and again come and go between two looks.
        """
        mine = {i.name for i in self.watched if i.node is None}
        seen = {i.pid for i in self.seen.issuers}
        return one.name in mine and one.pid not in seen and not one.kernel and self.seen.ran is not None

    @cached_property
    def issues(self) -> bool:
        """Whether requests at the device are known to be the load's. Threads of the kernel write for whoever dirtied a
        page, so what processes moved counts as well, of whatever device.
        """
        traced = sum(s.share for s in self.sharers if s.pid in self.mine)
        moved = sum(_moved(i) for i in self.beside if i.pid in self.mine)
        return traced >= OWN or moved >= LOAD * self.bytes_per_s > 0

    @property
    def untold(self) -> bool:
        """Whether the watched command is served by somebody, as far as is known, of whom it is not known who he is: who
        else has requests may be its server as well as a neighbour.
        """
        return self.seen.ran is not None and bool(self.seen.serving_untold)

    @cached_property
    def others(self) -> float:
        """Share of the traced requests at the device that are nobody's of the load."""
        return sum(s.share for s in self.sharers if s.pid not in self.mine and not s.kernel)

    def state(self, name: str) -> float | None:
        """Share of the looks at the load's threads in that state (running, storage, sleeping, other)."""
        # Who steers the load has no requests of its own, moves no data, and where nobody does hardly runs. Over a wire
        # that is a client in user space: what it moves to storage is anything but the load.
        traced = {one.pid for one in self.sharers if one.share >= LOAD}
        node = None if self.device is None else self.device[1]
        most = 0.0 if self.remote else max((_moved(i) for i in self.issuing), default=0.0)
        busiest = max((i.cores for i in self.issuing), default=0.0)
        seen = [i for i in self.issuing if i.threads is not None]
        chosen = [i.threads for i in seen if i.threads is not None and i.node == node and i.pid in traced] or [
            i.threads
            for i in seen
            if i.threads is not None and (_moved(i) >= 0.1 * most if most > 0 else i.cores >= 0.3 * busiest > 0)
        ]
        looks = sum(t.looks for t in chosen)
        return sum(getattr(t, name) for t in chosen) / looks if looks >= LOOKS_FEWEST else None

    @cached_property
    def ports(self) -> frozenset[str]:
        """The TCP ports of the path's servers, as the connections have them."""
        found = set()
        for layer in self.seen.stack.layers:
            target = layer.target
            if target.remote:
                parts = urlsplit(target.uri)
                port = parts.port or (target.scheme.port if target.scheme is not None else None)
                found |= {str(port)} if port else set()
        return frozenset(found)

    def of_the_path(self, counter: Counter) -> list[Reading]:
        """What connections to the path's servers say; those of others in the same nodes are left out."""
        return [r for r in self.told.of(counter) if r.get("port") is None or r.get("port") in self.ports]

    @cached_property
    def rtt_ns(self) -> float | None:
        """The least round trip of the connections that carry the load."""
        least: dict[tuple[str | None, str], float] = {}
        for r in self.of_the_path(tcp.MIN_RTT):
            key = r.node, r["end"]
            least[key] = min(least.get(key, r.value), r.value)
        return max(least.values()) * 1e9 if least else None

    @cached_property
    def sending(self) -> float | None:
        """Connections of the path, at its busier end, with something on its way that is not acknowledged yet, mean."""
        ends: dict[str, float] = {}
        for r in self.of_the_path(tcp.BUSY):
            ends[r["end"]] = ends.get(r["end"], 0.0) + r.value
        return max(ends.values(), default=None)

    @cached_property
    def outstanding(self) -> float | None:
        """I/Os that the load keeps outstanding, where its command says so."""
        ran = self.seen.ran
        asked = None if ran is None else ran.asked
        return None if asked is None or asked.outstanding is None else float(asked.outstanding)

    @cached_property
    def at_server(self) -> float | None:
        """Requests that the path's server has, mean, by its own times; what they do at the device is part of it."""
        told = [r.value for r in self.told.of(target.SECONDS)]
        return sum(told) if told else None

    @property
    def on_the_wire(self) -> float:
        """Requests that are on their way, mean, by the least round trip."""
        return self.iops * (self.rtt_ns or 0.0) / 1e9

    @property
    def asked(self) -> float | None:
        """Requests that are outstanding, as far as anybody says: the command, or the server of those that it has."""
        if self.outstanding is not None or self.at_server is None:
            return self.outstanding
        return self.at_server + self.on_the_wire

    @cached_property
    def in_front(self) -> float | None:
        """Requests that wait in front of the path's server, mean: outstanding, and neither at the device, on the wire,
        nor of a thread that waits for a CPU. None where that is not known: by the server's own times, or by the
        command, which says how many it keeps at the most, of a server that has as many as ever all the time (at the
        device; or by its own times, between two of them there).
        """
        most, at_device = self.most_together, self.in_flight or 0.0
        if most is None:
            return None
        known = []
        if self.at_server is not None:
            known.append((self.at_server, self.at_server - at_device - self.ready))
        if self.outstanding is not None and max(at_device, (self.at_server or 0.0) - self.ready) >= STEADY * most:
            known.append((self.outstanding, self.outstanding - at_device - self.ready - self.on_the_wire))
        if not known:
            return None
        # A server that reads no more than it serves has the others in no time of its own.
        return max((left for all_, left in known if left >= max(IN_FRONT, PART * all_)), default=0.0)

    @property
    def in_server(self) -> float | None:
        """Requests in the path's server, mean, by its own times, that are neither at the device, where flushes count
        too, nor of a thread that waits for a CPU. Its sending of answers is no part of its times.
        """
        if self.at_server is None or self.disk is None or self.in_flight is None:
            return None
        flushing = (self.disk.flushes or 0.0) * (self.disk.flush_ns or 0.0) / 1e9
        return max(0.0, self.at_server - self.in_flight - flushing - self.ready)

    @property
    def ready(self) -> float:
        """Threads of the path's servers that are ready to run and wait for a CPU, mean."""
        return sum(s.waiting or 0.0 for s in self.resources.servers)

    @property
    def has_connections(self) -> bool:
        """Whether TCP connections of the path were seen."""
        return bool(self.of_the_path(tcp.RTT))


def _moved(one: Issuer) -> float:
    return one.read_bytes + one.write_bytes


def _hardly_exceeded(depths: tuple[tuple[int, int], ...]) -> int:
    """The least depth that all requests but a few found at the most."""
    left = EXCEEDED * sum(n for _, n in depths)
    for depth, n in sorted(depths, reverse=True):
        left -= n
        if left < 0:
            return depth
    return 0
