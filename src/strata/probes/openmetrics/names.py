"""What another exporter's metrics are in our words. Only node_exporter's so far; what has no word here is left out."""

from __future__ import annotations

from collections.abc import Mapping

from strata.model.counters import blockdev, cpu, memory, net, pressure, tcp
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
_NET = {
    f"node_network_{theirs}_{what}_total": (ours, direction)
    for theirs, direction in (("receive", net.RECEIVED), ("transmit", net.SENT))
    for what, ours in (("bytes", net.BYTES), ("packets", net.PACKETS), ("errs", net.ERRORS), ("drop", net.DROPS))
}
_MEMORY = {
    "node_memory_MemTotal_bytes": "total",
    "node_memory_MemAvailable_bytes": "available",
    "node_memory_Cached_bytes": "cached",
    "node_memory_Dirty_bytes": "dirty",
    "node_memory_Writeback_bytes": "writeback",
    "node_memory_AnonPages_bytes": "anonymous",
    "node_memory_Slab_bytes": "slab",
}
_PRESSURE = {
    "node_pressure_cpu_waiting_seconds_total": ("cpu", "some"),
    "node_pressure_io_waiting_seconds_total": ("io", "some"),
    "node_pressure_io_stalled_seconds_total": ("io", "full"),
    "node_pressure_memory_waiting_seconds_total": ("memory", "some"),
    "node_pressure_memory_stalled_seconds_total": ("memory", "full"),
    "node_pressure_irq_stalled_seconds_total": ("irq", "full"),
}


def of_node_exporter(name: str, labels: Mapping[str, str]) -> Column | None:
    """The column a metric with these labels belongs to; None for what has no word here."""
    if name in _DEVICE and "device" in labels:
        return Column(_DEVICE[name], {"device": labels["device"]})
    if name in _NET and "device" in labels:
        counter, direction = _NET[name]
        return Column(counter, {"interface": labels["device"], "direction": direction})
    if name == "node_cpu_seconds_total" and "cpu" in labels:
        # node_exporter counts "nice" apart; here it is part of user, and both guests are in user and nice already.
        mode = "user" if labels.get("mode") == "nice" else labels.get("mode", "")
        return Column(cpu.SECONDS, {"cpu": labels["cpu"], "mode": mode}) if mode in cpu.MODES else None
    if name in _MEMORY:
        return Column(memory.BYTES, {"kind": _MEMORY[name]})
    if name in _PRESSURE:
        resource, kind = _PRESSURE[name]
        return Column(pressure.SECONDS, {"resource": resource, "kind": kind})
    if name == "node_cpu_scaling_frequency_hertz" and "cpu" in labels:
        return Column(cpu.FREQUENCY, {"cpu": labels["cpu"], "source": "cpufreq"})
    if name == "node_netstat_Tcp_RetransSegs":
        return Column(tcp.RESENT)
    return None
