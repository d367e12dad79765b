"""The health of NVMe devices, as they tell it themselves."""

from __future__ import annotations

from strata.model.counters.counter import Family, Over, Scope

_NVME = Family("nvme_", Scope.DEVICE)

CRITICAL_WARNING = _NVME.stands(
    "critical_warning", "bits", "critical warnings of the device, one bit each", over=Over.MAX
)
TEMPERATURE = _NVME.stands("temperature_kelvin", "K", "temperature", over=Over.MAX)
SPARE = _NVME.stands("spare_share", "1", "share of the spare blocks left", over=Over.NONE)
USED = _NVME.stands("used_share", "1", "share of the endurance used", over=Over.MAX)
READ_BYTES = _NVME.grows("read_bytes", "B", "bytes read, as counted by the device")
WRITTEN_BYTES = _NVME.grows("written_bytes", "B", "bytes written, as counted by the device")
MEDIA_ERRORS = _NVME.grows("media_errors", "errors", "media and data integrity errors")
THROTTLED = _NVME.grows("throttled_seconds", "s", "time of thermal throttling")
