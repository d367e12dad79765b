"""What another exporter's metrics are in our words. Only node_exporter's so far; what has no word here is left out."""

from __future__ import annotations

from collections.abc import Mapping

from strata.model.series import SeriesKind
from strata.probes.port import Column

_COUNTER, _GAUGE = SeriesKind.COUNTER, SeriesKind.GAUGE

_DEVICE = {
    "node_disk_reads_completed_total": ("blockdev_reads", "requests", _COUNTER),
    "node_disk_reads_merged_total": ("blockdev_read_merges", "requests", _COUNTER),
    "node_disk_read_bytes_total": ("blockdev_read_bytes", "B", _COUNTER),
    "node_disk_read_time_seconds_total": ("blockdev_read_seconds", "s", _COUNTER),
    "node_disk_writes_completed_total": ("blockdev_writes", "requests", _COUNTER),
    "node_disk_writes_merged_total": ("blockdev_write_merges", "requests", _COUNTER),
    "node_disk_written_bytes_total": ("blockdev_write_bytes", "B", _COUNTER),
    "node_disk_write_time_seconds_total": ("blockdev_write_seconds", "s", _COUNTER),
    "node_disk_io_now": ("blockdev_in_flight", "requests", _GAUGE),
    "node_disk_io_time_seconds_total": ("blockdev_io_seconds", "s", _COUNTER),
    "node_disk_io_time_weighted_seconds_total": ("blockdev_weighted_seconds", "s", _COUNTER),
    "node_disk_discards_completed_total": ("blockdev_discards", "requests", _COUNTER),
    "node_disk_discard_time_seconds_total": ("blockdev_discard_seconds", "s", _COUNTER),
    "node_disk_flush_requests_total": ("blockdev_flushes", "requests", _COUNTER),
    "node_disk_flush_requests_time_seconds_total": ("blockdev_flush_seconds", "s", _COUNTER),
}
_NET = {
    f"node_network_{theirs}_{what}_total": (ours, unit, direction)
    for theirs, direction in (("receive", "rx"), ("transmit", "tx"))
    for what, ours, unit in (
        ("bytes", "net_bytes", "B"),
        ("packets", "net_packets", "packets"),
        ("errs", "net_errors", "packets"),
        ("drop", "net_drops", "packets"),
    )
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
# node_exporter counts "nice" apart; here it is part of user, and both guests are in user and nice already.
_MODES = ("user", "system", "iowait", "irq", "softirq", "steal", "idle")


def of_node_exporter(name: str, labels: Mapping[str, str]) -> Column | None:
    """The column a metric with these labels belongs to; None for what has no word here."""
    if name in _DEVICE and "device" in labels:
        return Column(*_DEVICE[name], {"device": labels["device"]})
    if name in _NET and "device" in labels:
        metric, unit, direction = _NET[name]
        return Column(metric, unit, _COUNTER, {"interface": labels["device"], "direction": direction})
    if name == "node_cpu_seconds_total" and "cpu" in labels:
        mode = "user" if labels.get("mode") == "nice" else labels.get("mode", "")
        return Column("cpu_seconds", "s", _COUNTER, {"cpu": labels["cpu"], "mode": mode}) if mode in _MODES else None
    if name in _MEMORY:
        return Column("memory_bytes", "B", _GAUGE, {"kind": _MEMORY[name]})
    if name in _PRESSURE:
        resource, kind = _PRESSURE[name]
        return Column("pressure_seconds", "s", _COUNTER, {"resource": resource, "kind": kind})
    if name == "node_cpu_scaling_frequency_hertz" and "cpu" in labels:
        return Column("cpu_frequency_hz", "Hz", _GAUGE, {"cpu": labels["cpu"], "source": "cpufreq"})
    if name == "node_netstat_Tcp_RetransSegs":
        return Column("tcp_retransmitted_segments", "segments", _COUNTER)
    return None
