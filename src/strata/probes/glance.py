"""What the last samples say of this moment: for a display, not for a result."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from strata.model.progress import DeviceNow, Glance, NodeNow
from strata.model.series import SeriesKind
from strata.probes.recording import Watched


@dataclass(frozen=True)
class _Now:
    """One column: a counter's rate per second between the last two samples, a gauge's last value."""

    node: str | None
    metric: str
    labels: Mapping[str, str]
    value: float


def glance(watched: Sequence[Watched], nodes: Sequence[str | None] = (None,), own: float | None = None) -> Glance:
    """From the last two samples of each probe; nothing before the second. ``nodes``: their names, in their order.

    ``own``: processors that this process used meanwhile, as whoever asks has counted them.
    """
    found = [now for one in watched for now in _last(one)]
    if not found:
        return Glance()
    return Glance(
        busy=_busy(found),
        own=own,
        devices=tuple(_devices(found)),
        nodes=tuple(_node(name, [n for n in found if n.node == name]) for name in nodes),
    )


def _last(one: Watched) -> Iterator[_Now]:
    rows = one.rows[-2:]
    if len(rows) < 2 or rows[1][0] <= rows[0][0]:
        return
    seconds = (rows[1][0] - rows[0][0]) / 1e9
    for place, column in enumerate(one.probe.columns[: len(rows[0][1])]):
        before, now = rows[0][1][place], rows[1][1][place]
        if now is None or (column.kind is SeriesKind.COUNTER and (before is None or now < before)):
            continue
        value = now if column.kind is SeriesKind.GAUGE else (now - (before or 0.0)) / seconds
        yield _Now(one.node, column.metric, column.labels, value)


def _busy(found: Iterable[_Now]) -> float | None:
    modes = {
        n.labels["mode"]: n.value
        for n in found
        if n.metric == "cpu_seconds" and n.node is None and n.labels.get("cpu") == "all"
    }
    total = sum(modes.values())
    return 1 - (modes.get("idle", 0.0) + modes.get("iowait", 0.0)) / total if total > 0 else None


def _devices(found: Iterable[_Now]) -> Iterator[DeviceNow]:
    devices: dict[str, dict[str, float]] = {}
    for n in found:
        if n.metric.startswith("blockdev_"):
            devices.setdefault(n.labels["device"], {})[n.metric.removeprefix("blockdev_")] = n.value
    for name, of in devices.items():
        if not {"reads", "writes", "read_bytes", "write_bytes"} <= of.keys():
            continue
        iops, depth = of["reads"] + of["writes"], of.get("weighted_seconds")
        yield DeviceNow(
            name=name,
            iops=iops,
            bytes_per_second=of["read_bytes"] + of["write_bytes"],
            depth=depth,
            # Little's law; over a few requests it says nothing.
            request_s=depth / iops if depth is not None and iops >= 1 else None,
        )


def _node(name: str | None, found: Sequence[_Now]) -> NodeNow:
    wires = dict[tuple[str, bool], float]()
    servers = dict[str, float]()
    for n in found:
        if n.metric == "net_bytes":
            key = n.labels["direction"], n.labels["interface"] == "lo"
            wires[key] = wires.get(key, 0.0) + n.value
        elif n.metric == "server_cpu_seconds":
            servers[n.labels["process"]] = servers.get(n.labels["process"], 0.0) + n.value
    trips = [n.value for n in found if n.metric == "tcp_rtt_seconds"]
    away = {d: v for (d, loopback), v in wires.items() if not loopback}
    moved = away if any(v > 0 for v in away.values()) else {d: v for (d, loopback), v in wires.items() if loopback}
    return NodeNow(
        name=name,
        servers=tuple(servers.items()),
        tx_bytes_per_second=moved.get("tx"),
        rx_bytes_per_second=moved.get("rx"),
        resent=_sum(found, "tcp_retransmitted_segments"),
        rtt_s=sum(trips) / len(trips) if trips else None,
        waiting_bytes=_sum(found, "qdisc_backlog_bytes"),
        held_back=_sum(found, "cgroup_throttled_seconds"),
    )


def _sum(found: Iterable[_Now], metric: str) -> float | None:
    values = [n.value for n in found if n.metric == metric]
    return sum(values) if values else None
