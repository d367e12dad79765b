"""What the last samples say of this moment: for a display, not for a result."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from strata.model.counters import Counter, Readings, blockdev, cgroup, net, qdisc, servers, tcp
from strata.model.progress import DeviceNow, Glance, NodeNow
from strata.model.resources import processors_of
from strata.model.series import SeriesKind
from strata.probes.port import Column
from strata.probes.recording import Watched
from strata.units import NS_PER_S

LEAST_S = 0.08
"""Between the two samples that a rate is made of: in less, a counter of clock ticks moves by none or by one."""
_LOOKED_AT = 32
"""Samples, of which as many as are ever in that time."""


def glance(watched: Sequence[Watched], nodes: Sequence[str | None] = (None,), own: float | None = None) -> Glance:
    """From the last sample of each probe and the last one at least `LEAST_S` before it; nothing where there is none.

    ``nodes``: their names, in their order.
    ``own``: CPUs that this process used meanwhile, as whoever asks has counted them.
    """
    told = Readings.now((c.metric, one.node, c.labels, value) for one in watched for c, value in _last(one))
    if not told.stored:
        return Glance()
    mine = processors_of(told)
    return Glance(
        busy=None if mine is None else mine.busy,
        own=own,
        devices=tuple(_devices(told)),
        nodes=tuple(_node(n, told) for n in nodes),
    )


def _last(one: Watched) -> Iterator[tuple[Column, float]]:
    """Of each column a counter's rate per second between the two samples, a gauge's last value."""
    rows = one.rows[-_LOOKED_AT:]
    latest, values = rows[-1] if rows else (0, ())
    then, earlier = next((row for row in reversed(rows) if latest - row[0] >= LEAST_S * NS_PER_S), (latest, ()))
    seconds = (latest - then) / NS_PER_S
    for column, before, now in zip(one.probe.columns, earlier, values, strict=False):
        if now is None or (column.kind is SeriesKind.COUNTER and (before is None or now < before)):
            continue
        yield column, now if column.kind is SeriesKind.GAUGE else (now - (before or 0.0)) / seconds


def _devices(told: Readings) -> Iterator[DeviceNow]:
    def of(counter: Counter) -> dict[str, float]:
        return {r["device"]: r.value for r in told.of(counter, node=None)}

    reads, writes = of(blockdev.READS), of(blockdev.WRITES)
    read, written, waiting = of(blockdev.READ_BYTES), of(blockdev.WRITE_BYTES), of(blockdev.WEIGHTED_SECONDS)
    for name in (n for n in reads if n in writes and n in read and n in written):
        iops, depth = reads[name] + writes[name], waiting.get(name)
        yield DeviceNow(
            name=name,
            iops=iops,
            bytes_per_second=read[name] + written[name],
            depth=depth,
            # Little's law; over a few requests it says nothing.
            request_s=depth / iops if depth is not None and iops >= 1 else None,
        )


def _node(name: str | None, told: Readings) -> NodeNow:
    away, loopback = dict[str, float](), dict[str, float]()
    for r in told.of(net.BYTES, node=name):
        wires = loopback if r["interface"] == net.LOOPBACK else away
        wires[r["direction"]] = wires.get(r["direction"], 0.0) + r.value
    moved = away if any(v > 0 for v in away.values()) else loopback
    return NodeNow(
        name=name,
        servers=tuple(
            (str(process), v) for (process,), v in told.each(servers.CPU_SECONDS, "process", node=name).items()
        ),
        tx_bytes_per_second=moved.get(net.SENT),
        rx_bytes_per_second=moved.get(net.RECEIVED),
        resent=told.total(tcp.RESENT, node=name),
        rtt_s=told.total(tcp.RTT, node=name),
        waiting_bytes=told.total(qdisc.BACKLOG_BYTES, node=name),
        held_back=told.total(cgroup.THROTTLED_SECONDS, node=name),
    )
