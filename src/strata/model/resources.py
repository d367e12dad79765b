"""What every resource of the path did for one cell: how busy it was, what each I/O asked of it, what waited at it.

Operational laws (Denning and Buzen 1978): of a resource that is busy for the share U of the time while X I/Os are done
a second, each I/O asks U ÷ X of it (its service demand), and none gives more I/Os than 1 ÷ demand. All of it is read
from the counters as they are kept, so it can be said of any stored run. What was not read is None, never 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from strata.model.counters import Counter, Readings, blockdev, cgroup, cpu, net, qdisc, servers, tcp

NS = 1e9
QUIET_SEGMENTS = 20.0
"""Segments per second below which a share of them says nothing."""


def place(name: str, node: str | None) -> str:
    """``eth1 of n2``; of this machine only ``eth1``."""
    return name if node is None else f"{name} of {node}"


@dataclass(frozen=True)
class Processors:
    """The CPUs of one node. Shares 0..1: ``busy`` of all, ``busiest`` of one, ``steal`` taken by a hypervisor."""

    node: str | None
    busy: float
    busiest: float
    steal: float
    count: int
    demand_ns: float | None
    """CPU time of each I/O, everything that ran counted."""


@dataclass(frozen=True)
class ServerProcess:
    """A server process with its children. ``cores``: CPUs at work; ``busiest_thread``: share of one."""

    node: str | None
    name: str
    cores: float
    busiest_thread: float | None
    waiting: float | None
    """CPUs it would have used more, had it been given them at once."""
    processes: float | None
    demand_ns: float | None


@dataclass(frozen=True)
class Quota:
    """A control group with a CPU quota: share of its periods in which it was held back.

    ``process`` None: the group that Strata runs in.
    """

    group: str
    node: str | None
    share: float
    process: str | None

    @property
    def own(self) -> bool:
        """Whether it is the load generator's own."""
        return self.node is None and self.process is None

    @property
    def where(self) -> str:
        """``qemu-nbd on n1``, or the group's name."""
        who = self.process or self.group
        return who if self.node is None else f"{who} on {self.node}"


@dataclass(frozen=True)
class Card:
    """One interface, which is no loopback. Per second: bytes in each direction, packets ``held`` for a rate and
    ``dropped``; ``waiting``: bytes in front of it, mean. ``per_byte``: the same for each byte of the application."""

    node: str | None
    interface: str
    received: float | None
    sent: float | None
    received_per_byte: float | None
    sent_per_byte: float | None
    waiting: float | None
    held: float | None
    dropped: float | None

    @property
    def most(self) -> float:
        """Bytes per second of the busier direction."""
        return max(self.received or 0.0, self.sent or 0.0)

    @property
    def name(self) -> str:
        """``eth1 of n2``."""
        return place(self.interface, self.node)


@dataclass(frozen=True)
class Disk:
    """One block device. Per second: ``reads``, ``writes``, ``flushes`` and bytes; ``busy``: share of the time with a
    request under way; ``in_flight``: requests under way, mean; ``…_ns``: mean times of one, queue included.

    ``requests_per_io``, ``…_per_byte`` and ``demand_ns``: for each I/O and byte of the application; the demand is the
    time with a request under way, which several requests share.
    """

    node: str | None
    device: str
    reads: float
    writes: float
    read_bytes: float
    write_bytes: float
    busy: float | None
    in_flight: float | None
    read_ns: float | None
    write_ns: float | None
    flushes: float | None
    flush_ns: float | None
    requests_per_io: float | None
    read_bytes_per_byte: float | None
    write_bytes_per_byte: float | None
    demand_ns: float | None

    @property
    def name(self) -> str:
        """``vda of n2``."""
        return place(self.device, self.node)


@dataclass(frozen=True)
class Path:
    """The connections of one end to one peer. Times in ns; rates per second, all connections together."""

    node: str | None
    peer: str
    end: str
    connections: int
    rtt_ns: float | None
    least_rtt_ns: float | None
    delivery_rate: float | None
    retransmits: float | None
    busy: float | None
    """Connections that had something to send, mean."""
    receiver_limited: float | None


@dataclass(frozen=True)
class Resent:
    """TCP segments per second that were sent again, their share of all that were sent, and the node with most."""

    rate: float
    share: float
    where: str


@dataclass(frozen=True)
class Resources:
    """Of one cell with ``iops`` I/Os and ``rate`` bytes per second of the application."""

    told: Readings
    iops: float
    rate: float

    @cached_property
    def processors(self) -> tuple[Processors, ...]:
        """Of every node, this machine first."""
        nodes = sorted({r.node for r in self.told.of(cpu.SECONDS)} | {None}, key=lambda n: n or "")
        return tuple(p for node in nodes if (p := processors_of(self.told, node, self.iops)) is not None)

    @cached_property
    def servers(self) -> tuple[ServerProcess, ...]:
        """The busiest first."""
        found = []
        for (node, name), cores in self.told.each(servers.CPU_SECONDS, "node", "process").items():
            assert name is not None

            def of(counter: Counter, node: str | None = node, name: str = name) -> float | None:
                return self.told.value(counter, node=node, process=name)

            rest = of(servers.BUSIEST_THREAD), of(servers.RUN_DELAY), of(servers.PROCESSES)
            found.append(ServerProcess(node, name, cores, *rest, self._each_io(cores)))
        return tuple(sorted(found, key=lambda s: -s.cores))

    @cached_property
    def quotas(self) -> tuple[Quota, ...]:
        """Every group with a quota, the most held back first."""
        found = []
        for one in self.told.of(cgroup.PERIODS):
            who = {"cgroup": one["cgroup"], "node": one.node, "process": one.get("process")}
            held = self.told.value(cgroup.THROTTLED_PERIODS, **who)
            if one.value > 0 and held is not None:
                found.append(Quota(one["cgroup"], one.node, min(1.0, held / one.value), one.get("process")))
        return tuple(sorted(found, key=lambda q: -q.share))

    @cached_property
    def cards(self) -> tuple[Card, ...]:
        """The busiest first."""
        labels = ("node", "interface")
        waiting, held = (self.told.each(c, *labels) for c in (qdisc.BACKLOG_BYTES, qdisc.OVERLIMITS))
        drops = [self.told.each(c, *labels) for c in (qdisc.DROPS, net.DROPS)]
        passed = {d: self.told.each(net.BYTES, *labels, direction=d) for d in (net.RECEIVED, net.SENT)}
        found = []
        for key in dict.fromkeys(k for one in passed.values() for k in one):
            node, interface = key
            if interface is None or interface == net.LOOPBACK:
                continue
            received, sent = passed[net.RECEIVED].get(key), passed[net.SENT].get(key)
            lost = [d[key] for d in drops if key in d]
            found.append(
                Card(
                    node=node,
                    interface=interface,
                    received=received,
                    sent=sent,
                    received_per_byte=self._each_byte(received),
                    sent_per_byte=self._each_byte(sent),
                    waiting=waiting.get(key),
                    held=held.get(key),
                    dropped=sum(lost) if lost else None,
                )
            )
        return tuple(sorted(found, key=lambda c: -c.most))

    @cached_property
    def disks(self) -> tuple[Disk, ...]:
        """In the order in which they are kept."""
        return tuple(d for r in self.told.of(blockdev.READ_BYTES) if (d := self.disk(r["device"], r.node)) is not None)

    def disk(self, device: str, node: str | None = None) -> Disk | None:
        """One device; None where its requests and bytes were not read."""

        def of(counter: Counter) -> float | None:
            return self.told.value(counter, device=device, node=node)

        reads, writes = of(blockdev.READS), of(blockdev.WRITES)
        read_bytes, write_bytes = of(blockdev.READ_BYTES), of(blockdev.WRITE_BYTES)
        if reads is None or writes is None or read_bytes is None or write_bytes is None:
            return None
        ios = reads + writes
        busy, under_way = of(blockdev.IO_SECONDS), of(blockdev.WEIGHTED_SECONDS)
        flushes = of(blockdev.FLUSHES)
        return Disk(
            node=node,
            device=device,
            reads=reads,
            writes=writes,
            read_bytes=read_bytes,
            write_bytes=write_bytes,
            busy=None if busy is None else min(1.0, busy),
            in_flight=of(blockdev.IN_FLIGHT) if under_way is None else under_way,
            read_ns=_of_one(of(blockdev.READ_SECONDS), reads),
            write_ns=_of_one(of(blockdev.WRITE_SECONDS), writes),
            flushes=flushes,
            flush_ns=_of_one(of(blockdev.FLUSH_SECONDS), flushes),
            requests_per_io=ios / self.iops if self.iops > 0 else None,
            read_bytes_per_byte=self._each_byte(read_bytes),
            write_bytes_per_byte=self._each_byte(write_bytes),
            demand_ns=None if busy is None else self._each_io(min(1.0, busy)),
        )

    @cached_property
    def paths(self) -> tuple[Path, ...]:
        """Each end's view of each peer, the one with the longest round trip first."""
        found = []
        for node, peer, end in dict.fromkeys(r.key("node", "peer", "end") for r in self.told.of(tcp.RTT)):
            assert peer is not None and end is not None
            who = {"node": node, "peer": peer, "end": end}
            least = [r.value for r in self.told.of(tcp.MIN_RTT, **who)]
            found.append(
                Path(
                    node=node,
                    peer=peer,
                    end=end,
                    connections=len(self.told.of(tcp.RTT, **who)),
                    rtt_ns=_ns(self.told.total(tcp.RTT, **who)),
                    least_rtt_ns=_ns(min(least, default=None)),
                    delivery_rate=self.told.total(tcp.DELIVERY_RATE, **who),
                    retransmits=self.told.total(tcp.RETRANSMITS, **who),
                    busy=self.told.total(tcp.BUSY, **who),
                    receiver_limited=self.told.total(tcp.RECEIVER_LIMITED, **who),
                )
            )
        return tuple(sorted(found, key=lambda p: -(p.least_rtt_ns or 0.0)))

    @cached_property
    def resent(self) -> Resent | None:
        """Over all nodes whose counters were read; None where hardly anything was sent."""
        rate, sent = self.told.total(tcp.RESENT), self.told.total(tcp.SEGMENTS, direction="out")
        worst = self.told.largest(tcp.RESENT)
        if rate is None or worst is None or sent is None or sent < QUIET_SEGMENTS:
            return None
        return Resent(rate, rate / sent, worst.node or "this machine")

    @cached_property
    def dropped(self) -> float:
        """Packets per second that queueing disciplines and interfaces of the nodes dropped themselves."""
        return sum(self.told.total(counter) or 0.0 for counter in (qdisc.DROPS, net.DROPS))

    def _each_io(self, busy: float) -> float | None:
        return _demand(busy, self.iops)

    def _each_byte(self, rate: float | None) -> float | None:
        return rate / self.rate if rate is not None and self.rate > 0 else None


def processors_of(told: Readings, node: str | None = None, iops: float = 0.0) -> Processors | None:
    """Of this machine, or of another one of that name; their demand where ``iops`` are known."""
    every = {str(mode): value for (mode,), value in told.each(cpu.SECONDS, "mode", node=node).items()}
    busy = _busy(every) if any(mode in every for mode in cpu.IDLE_MODES) else None
    if busy is None:
        return None
    single: dict[str, dict[str, float]] = {}
    for r in told.of(cpu.SECONDS, node=node):
        single.setdefault(r["cpu"], {})[r["mode"]] = r.value
    shares = [s for s in map(_busy, single.values()) if s is not None]
    whole = sum(every.values())
    steal = every.get("steal", 0.0) / whole
    return Processors(node, busy, max(shares, default=busy), steal, len(single), _demand(busy * whole, iops))


def _demand(busy: float, iops: float) -> float | None:
    return busy / iops * NS if iops > 0 else None


def _busy(modes: dict[str, float]) -> float | None:
    total = sum(modes.values())
    return 1 - sum(modes.get(m, 0.0) for m in cpu.IDLE_MODES) / total if total > 0 else None


def _ns(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * NS


def _of_one(seconds: float | None, ios: float | None) -> float | None:
    return seconds / ios * NS if seconds is not None and ios else None
