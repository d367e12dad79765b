"""What the last samples say of this moment: for a display, not for a result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from strata.probes.recording import Watched


@dataclass(frozen=True)
class Glance:
    """``device_depth``: requests in flight at the busiest device. Bytes per second over all interfaces but the
    loopback, or the loopback's where nothing else moved."""

    device_depth: float | None = None
    device_bytes_per_second: float | None = None
    wire_tx_bytes_per_second: float | None = None
    wire_rx_bytes_per_second: float | None = None


def glance(watched: Sequence[Watched]) -> Glance:
    """From the last two samples of each probe; nothing before the second."""
    depth, device, wires = _none(), _none(), dict[tuple[str, bool], float]()
    for one in watched:
        rows = one.rows[-2:]
        if len(rows) < 2 or rows[1][0] <= rows[0][0]:
            continue
        seconds = (rows[1][0] - rows[0][0]) / 1e9
        for place, column in enumerate(one.probe.columns[: len(rows[0][1])]):
            before, now = rows[0][1][place], rows[1][1][place]
            if before is None or now is None or now < before:
                continue
            rate = (now - before) / seconds
            match column.metric:
                case "blockdev_weighted_seconds":
                    depth[column.labels["device"]] = rate
                case "blockdev_read_bytes" | "blockdev_write_bytes":
                    name = column.labels["device"]
                    device[name] = device.get(name, 0.0) + rate
                case "net_bytes":
                    key = column.labels["direction"], column.labels["interface"] == "lo"
                    wires[key] = wires.get(key, 0.0) + rate
    away = {d: v for (d, loopback), v in wires.items() if not loopback}
    moved = away if any(v > 0 for v in away.values()) else {d: v for (d, loopback), v in wires.items() if loopback}
    return Glance(
        device_depth=max(depth.values(), default=None),
        device_bytes_per_second=max(device.values(), default=None),
        wire_tx_bytes_per_second=moved.get("tx"),
        wire_rx_bytes_per_second=moved.get("rx"),
    )


def _none() -> dict[str, float]:
    return {}
