"""The health of NVMe devices, as they tell it themselves."""

from __future__ import annotations

from strata.model.counters.counter import Counter, Over, Scope
from strata.model.series import SeriesKind


def _gauge(name: str, unit: str, words: str) -> Counter:
    return Counter(f"nvme_{name}", unit, SeriesKind.GAUGE, Scope.DEVICE, words, Over.MAX)


def _grows(name: str, unit: str, words: str) -> Counter:
    return Counter(f"nvme_{name}", unit, SeriesKind.COUNTER, Scope.DEVICE, words)


CRITICAL_WARNING = _gauge("critical_warning", "bits", "warnings of the device, a bit each")
TEMPERATURE = _gauge("temperature_kelvin", "K", "temperature")
SPARE = Counter("nvme_spare_share", "1", SeriesKind.GAUGE, Scope.DEVICE, "spare blocks that are left", Over.NONE)
USED = _gauge("used_share", "1", "endurance that is used up")
READ_BYTES = _grows("read_bytes", "B", "bytes read, as the device counts them")
WRITTEN_BYTES = _grows("written_bytes", "B", "bytes written, as the device counts them")
MEDIA_ERRORS = _grows("media_errors", "errors", "data that could not be read or written")
THROTTLED = _grows("throttled_seconds", "s", "the device was hot and slowed itself")
