"""The health of NVMe devices, as they tell it themselves."""

from __future__ import annotations

from strata.model.counters.counter import Counter, Over, Scope
from strata.model.series import SeriesKind


def _gauge(name: str, unit: str, words: str) -> Counter:
    return Counter(f"nvme_{name}", unit, SeriesKind.GAUGE, Scope.DEVICE, words, Over.MAX)


def _grows(name: str, unit: str, words: str) -> Counter:
    return Counter(f"nvme_{name}", unit, SeriesKind.COUNTER, Scope.DEVICE, words)


CRITICAL_WARNING = _gauge("critical_warning", "bits", "critical warnings of the device, one bit each")
TEMPERATURE = _gauge("temperature_kelvin", "K", "temperature")
SPARE = Counter("nvme_spare_share", "1", SeriesKind.GAUGE, Scope.DEVICE, "share of the spare blocks left", Over.NONE)
USED = _gauge("used_share", "1", "share of the endurance used")
READ_BYTES = _grows("read_bytes", "B", "bytes read, as counted by the device")
WRITTEN_BYTES = _grows("written_bytes", "B", "bytes written, as counted by the device")
MEDIA_ERRORS = _grows("media_errors", "errors", "media and data integrity errors")
THROTTLED = _grows("throttled_seconds", "s", "time of thermal throttling")
