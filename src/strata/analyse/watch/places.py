"""Where the outstanding requests of a load are: one row for each place that they pass, by Little's law X · R = N.

What a place counts itself is taken as it is counted; what it does not, is left out and never 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from strata.model.counters import tcp
from strata.model.endpoint import EndpointKind
from strata.model.resources import NS, Disk, Resources
from strata.model.stack import Layer
from strata.model.watch import (
    APPLICATION,
    CALLS,
    ISSUERS_MOST,
    LOOKS_FEWEST,
    Arrival,
    Issuer,
    Observed,
    WatchedLayer,
)

_QUIET, _MOVES = 0.01, 1000.0
"""CPUs of a server, and bytes per second of a card, below which it has no row."""
_FRAME = 1500.0
"""Bytes of a packet that waits, about."""
_PATHS = 8
_COUNTED = 0.5
"""Of the bytes that processes move to and from storage: so much of it goes through their system calls, else their
requests pass by the counters of these."""


def places(seen: Observed, first: int = 0, end: int | None = None) -> tuple[WatchedLayer, ...]:
    """From the application down to the medium, over some pieces of the time; demands are for each I/O of the device."""
    told = seen.readings(first, end)
    # Without a device there are no I/Os that anything could be asked for.
    plain = Resources(told, 0.0, 0.0)
    reached = [seen.reaches(layer.name) for layer in reversed(seen.stack.layers)]
    upper = next((d for r in reached for n in r.devices if (d := plain.disk(n, r.node)) is not None), None)
    resources = (
        plain if upper is None else Resources(told, upper.reads + upper.writes, upper.read_bytes + upper.write_bytes)
    )
    found = [*_application(seen)]
    for layer in reversed(seen.stack.layers):
        if layer.target.kind is EndpointKind.BLOCK or not layer.on:
            found += _devices(seen, layer.name, layer.node, resources)
        elif layer.target.remote:
            found += _wires(layer.name, resources, seen.speeds)
        elif layer.target.kind is EndpointKind.FILE:
            found.append(_calls(seen, layer))
    found += _machine(resources)
    return tuple(found)


def _entering(seen: Observed) -> tuple[Issuer, ...]:
    """Whose load it is that the topmost layer gets."""
    # Behind a wire it is a server that has the requests at the device of another node.
    top = seen.stack.layers[-1]
    nodes = {None} if top.target.remote else {None, seen.reaches(top.name).node}
    at_devices = {(a.node, s.pid) for a in seen.arrivals if a.node in nodes for s in a.sharers}
    traced = [i for i in seen.issuers if i.watched or (i.node, i.pid) in at_devices]
    return tuple(traced) if at_devices or seen.ran else seen.issuers


def _application(seen: Observed) -> Iterator[WatchedLayer]:
    for one in _entering(seen)[:4]:
        moved = one.read_bytes + one.write_bytes
        storage = None if one.threads is None else one.threads.share("storage")
        yield WatchedLayer(
            layer=APPLICATION,
            what=one.label,
            kind=one.kind,
            bytes_per_second=moved or None,
            busy=storage,
            writes=one.write_bytes / moved if moved else None,
            node=one.node,
        )


def _calls(seen: Observed, layer: Layer) -> WatchedLayer:
    """What enters a layer of files above a device: the system calls of who uses it. In flight are those that wait, in
    it or below it."""
    # What is below the topmost layer is used by the servers of the path, which are known of this machine alone.
    served = tuple(i for i in seen.issuers if i.node is None and i.pid in seen.servers)
    mine = _entering(seen) if layer is seen.stack.layers[-1] else served
    row = WatchedLayer(layer=layer.name, what="system calls", kind=CALLS, node=mine[0].node if mine else None)
    told = [i.asked_ios for i in mine if i.asked_ios is not None]
    asked, moved = sum(i.asked_bytes for i in mine), sum(i.read_bytes + i.write_bytes for i in mine)
    why = None
    if not mine:
        why = "no process that uses it is seen"
    elif len(seen.issuers) >= ISSUERS_MOST and seen.issuers[-1] in mine:
        # Those that are told move most; the calls of the others would be missing from the sum.
        why = f"more than the {ISSUERS_MOST} processes that are told may use it"
    elif len(told) < len(mine):
        why = "the system calls of who uses it were not counted"
    elif asked < _COUNTED * moved:
        why = "most of its bytes pass the counters of system calls by (asynchronous or mapped I/O)"
    if why is not None:
        return row.model_copy(update={"untold": why})
    ios, waiting = sum(told), _waiting(mine)
    return row.model_copy(
        update={
            "iops": ios,
            "bytes_per_second": asked,
            "in_flight": waiting,
            "request_ns": waiting / ios * NS if waiting is not None and ios >= 1 else None,
            "bs": asked / ios if ios >= 1 else None,
        }
    )


def _waiting(issuers: tuple[Issuer, ...]) -> float | None:
    """Threads that wait for storage, mean; None where one that moves data was not looked at often enough."""
    busy = [i.threads for i in issuers if i.asked_bytes + i.read_bytes + i.write_bytes >= 1]
    known = [t for t in busy if t is not None and t.looks >= LOOKS_FEWEST]
    return sum(t.threads * t.share("storage") for t in known) if known and len(known) == len(busy) else None


def _devices(seen: Observed, layer: str, node: str | None, resources: Resources) -> Iterator[WatchedLayer]:
    reached = seen.reaches(layer)
    here = [d for n in reached.devices if (d := resources.disk(n, reached.node)) is not None]
    for disk in here or [d for d in resources.disks if d.node is not None and d.node == node]:
        yield device_row(layer, disk, [a for a in seen.arrivals if (a.device, a.node) == (disk.device, disk.node)])


def device_row(layer: str, disk: Disk, arrivals: list[Arrival]) -> WatchedLayer:
    """One device with what was traced of it."""
    iops, moved = disk.reads + disk.writes, disk.read_bytes + disk.write_bytes
    parts = [(a.summary.read, a.summary.write, a.summary) for a in arrivals]
    ordered = [
        (o.requests, o.windowed_share)
        for read, write, _ in parts
        for o in (read, write)
        if o.windowed_share is not None
    ]
    halves = [o for read, write, _ in parts for o in (read, write)]
    took = [t for a in arrivals if a.requests is not None for t in a.requests.took_us]
    entered = sum(read.entered + write.entered for read, write, _ in parts)
    return WatchedLayer(
        layer=layer,
        what=disk.name,
        kind="device",
        node=disk.node,
        iops=iops,
        bytes_per_second=moved,
        in_flight=disk.in_flight,
        request_ns=disk.in_flight / iops * NS if disk.in_flight is not None and iops >= 1 else None,
        busy=disk.busy,
        demand_ns=disk.busy / iops * NS if disk.busy is not None and iops >= 1 else None,
        bs=moved / iops if iops >= 1 else None,
        writes=disk.writes / iops if iops >= 1 else None,
        sequential=sum(n * s for n, s in ordered) / sum(n for n, _ in ordered) if ordered else None,
        splits=sum(s.splits for *_, s in parts) / entered if entered else None,
        p50_ns=float(np.median(took)) * 1e3 if took else None,
        p99_ns=max((ns for o in halves if (ns := o.service_p99_ns) is not None), default=None),
    )


def _wires(layer: str, resources: Resources, speeds: Mapping[str, float]) -> Iterator[WatchedLayer]:
    for card in resources.cards:
        if card.most > _MOVES:
            speed = speeds.get(card.name)
            busy = min(1.0, card.most / speed) if speed else None
            yield WatchedLayer(
                layer=layer,
                what=card.name,
                kind="card",
                bytes_per_second=card.most,
                busy=busy,
                demand_ns=busy / resources.iops * NS if busy is not None and resources.iops >= 1 else None,
                node=card.node,
            )
            if card.waiting:
                packets = card.waiting / _FRAME
                yield WatchedLayer(
                    layer=layer, what=f"queue of {card.name}", kind="queue", in_flight=packets, node=card.node
                )
    for path in resources.paths[:_PATHS]:
        if path.end == tcp.CLIENT and path.rtt_ns is not None:
            yield WatchedLayer(
                layer=layer, what=f"wire to {path.peer}", kind="wire", request_ns=path.rtt_ns, node=path.node
            )
    for server in resources.servers:
        if server.cores >= _QUIET:
            where = server.name if server.node is None else f"{server.name} of {server.node}"
            yield WatchedLayer(
                layer=layer,
                what=where,
                kind="server",
                busy=server.busiest_thread,
                demand_ns=server.demand_ns,
                node=server.node,
            )


def _machine(resources: Resources) -> Iterator[WatchedLayer]:
    for p in resources.processors:
        at = "" if p.node is None else f" of {p.node}"
        yield WatchedLayer(
            layer="CPUs",
            what=f"{p.count} CPUs{at}",
            kind="processors",
            busy=p.busy,
            demand_ns=p.demand_ns,
            node=p.node,
        )
        if p.count > 1:
            yield WatchedLayer(layer="CPUs", what=f"busiest CPU{at}", kind="processor", busy=p.busiest, node=p.node)
