"""What another exporter's metrics are in our words. Only node_exporter's so far; what has no word here is left out."""

from __future__ import annotations

from collections.abc import Mapping

from strata.model.counters import Counter, blockdev, cpu, memory, net, pressure, tcp
from strata.probes.memory import NAMES
from strata.probes.port import Column

_DEVICE = {
    "node_disk_reads_completed_total": blockdev.READS,
    "node_disk_reads_merged_total": blockdev.READ_MERGES,
    "node_disk_read_bytes_total": blockdev.READ_BYTES,
    "node_disk_read_time_seconds_total": blockdev.READ_SECONDS,
    "node_disk_writes_completed_total": blockdev.WRITES,
    "node_disk_writes_merged_total": blockdev.WRITE_MERGES,
    "node_disk_written_bytes_total": blockdev.WRITE_BYTES,
    "node_disk_write_time_seconds_total": blockdev.WRITE_SECONDS,
    "node_disk_io_now": blockdev.IN_FLIGHT,
    "node_disk_io_time_seconds_total": blockdev.IO_SECONDS,
    "node_disk_io_time_weighted_seconds_total": blockdev.WEIGHTED_SECONDS,
    "node_disk_discards_completed_total": blockdev.DISCARDS,
    "node_disk_discard_time_seconds_total": blockdev.DISCARD_SECONDS,
    "node_disk_flush_requests_total": blockdev.FLUSHES,
    "node_disk_flush_requests_time_seconds_total": blockdev.FLUSH_SECONDS,
}
_KNOWN: dict[str, tuple[Counter, dict[str, str], dict[str, str]]] = {
    **{theirs: (ours, {"device": "device"}, {}) for theirs, ours in _DEVICE.items()},
    **{
        f"node_network_{theirs}_{what}_total": (ours, {"device": "interface"}, {"direction": direction})
        for theirs, direction in (("receive", net.RECEIVED), ("transmit", net.SENT))
        for what, ours in (("bytes", net.BYTES), ("packets", net.PACKETS), ("errs", net.ERRORS), ("drop", net.DROPS))
    },
    **{f"node_memory_{name}_bytes": (memory.BYTES, {}, {"kind": kind}) for kind, name in NAMES.items()},
    **{
        f"node_pressure_{resource}_{theirs}_seconds_total": (pressure.SECONDS, {}, {"resource": resource, "kind": kind})
        for resource in pressure.RESOURCES
        for theirs, kind in (("waiting", "some"), ("stalled", "full"))
    },
    "node_cpu_scaling_frequency_hertz": (cpu.FREQUENCY, {"cpu": "cpu"}, {"source": "cpufreq"}),
    "node_netstat_Tcp_RetransSegs": (tcp.RESENT, {}, {}),
}
"""Our counter, its labels by their names there, and those that the name stands for."""


def of_node_exporter(name: str, labels: Mapping[str, str]) -> Column | None:
    """The column a metric with these labels belongs to; None for what has no word here."""
    if name == "node_cpu_seconds_total" and "cpu" in labels:
        # node_exporter counts "nice" apart; here it is part of user, and both guests are in user and nice already.
        mode = "user" if labels.get("mode") == "nice" else labels.get("mode", "")
        return Column(cpu.SECONDS, {"cpu": labels["cpu"], "mode": mode}) if mode in cpu.MODES else None
    counter, taken, stands_for = _KNOWN.get(name, (None, {}, {}))
    if counter is None or not taken.keys() <= labels.keys():
        return None
    return Column(counter, {ours: labels[theirs] for theirs, ours in taken.items()} | stands_for)
