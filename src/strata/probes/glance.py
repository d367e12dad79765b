"""What the last samples say of this moment: for a display, not for a result."""

from __future__ import annotations

from collections.abc import Sequence

from strata.model.progress import Glance
from strata.probes.recording import Watched


def glance(watched: Sequence[Watched]) -> Glance:
    """From the last two samples of each probe; nothing before the second."""
    depth, wires = dict[str, float](), dict[tuple[str, bool], float]()
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
                case "net_bytes":
                    key = column.labels["direction"], column.labels["interface"] == "lo"
                    wires[key] = wires.get(key, 0.0) + rate
    away = {d: v for (d, loopback), v in wires.items() if not loopback}
    moved = away if any(v > 0 for v in away.values()) else {d: v for (d, loopback), v in wires.items() if loopback}
    return Glance(
        device_depth=max(depth.values(), default=None),
        wire_tx_bytes_per_second=moved.get("tx"),
        wire_rx_bytes_per_second=moved.get("rx"),
    )
