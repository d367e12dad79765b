"""The health of each physical device, as it tells it itself and as the kernel saw it.

``smartctl`` (SATA, SAS, NVMe) and, without it, ``nvme`` are asked for JSON, as root. A disk that sleeps is not woken.
Without either: the temperature that the kernel itself reads (hwmon) and the requests that it saw fail.
"""

from __future__ import annotations

import re
from typing import Any

from strata.discover.tools import Tools
from strata.host.block import BASE
from strata.host.proc import Sys
from strata.model.hardware import Health
from strata.model.survey import Device

_KELVIN = 273.15
_ASLEEP = "asleep: it was not woken"


def health(device: Device, sys: Sys, tools: Tools) -> Health | None:
    """Of a disk; None where nothing is known of one, and for devices that have no health of their own."""
    if device.kind not in ("scsi", "nvme") or device.transport in ("iscsi", "hyper-v", "virtio", "xen"):
        return None
    told: dict[str, Any] = {}
    wanted = f"health of {device.path}"
    if tools.has("smartctl"):
        told = _smart(tools.json(wanted, "smartctl", "--json", "--all", "--nocheck=standby", device.path))
        if told.pop("asleep", False):
            tools.missed[wanted] = _ASLEEP
    elif device.kind == "nvme" and tools.has("nvme"):
        told = _nvme(tools.json(wanted, "nvme", "smart-log", "--output-format=json", device.path))
    else:
        # Names the program that is not there.
        missing = "smartctl" if device.kind == "scsi" else "smartctl or nvme"
        tools.missed[wanted] = f"{missing} is not installed"
    kernel = _kernel(device, sys)
    if not told and not kernel:
        return None
    return Health(**{"source": "kernel", **{k: v for k, v in kernel.items() if v is not None}, **told})


def _kernel(device: Device, sys: Sys) -> dict[str, Any]:
    home = f"{BASE}/{device.name}/device"
    found: dict[str, Any] = {}
    for place in (home, f"{home}/hwmon"):
        for sensor in (n for n in sys.names(place) if re.fullmatch(r"hwmon\d+", n)):
            for key, name in (("celsius", "temp1_input"), ("celsius_limit", "temp1_max")):
                if (milli := sys.int(f"{place}/{sensor}/{name}")) is not None:
                    found.setdefault(key, milli / 1000)
    counted = sys.text(f"{home}/ioerr_cnt")
    if counted is not None and re.fullmatch(r"0x[0-9a-f]{1,16}", counted):
        found["kernel_errors"] = int(counted, 16)
    return found


def _smart(told: dict[str, Any]) -> dict[str, Any]:
    """smartctl's document (smartmontools 7): of ATA the attributes, of SCSI the error counters, of NVMe the log."""
    if not told:
        return {}
    if any("STANDBY" in _text(m, "string") or "SLEEP" in _text(m, "string") for m in _messages(told)):
        return {"asleep": True}
    found: dict[str, Any] = {
        "passed": _at(told, "smart_status", "passed"),
        "celsius": _number(told, "temperature", "current"),
        "celsius_limit": _number(told, "temperature", "drive_trip"),
        "hours": _whole(told, "power_on_time", "hours"),
    }
    attributes = {row.get("id"): row for row in _rows(told, "ata_smart_attributes", "table")}
    for key, numbers in (
        ("reallocated", (5,)),
        ("pending", (197,)),
        ("uncorrected", (198, 187)),
        ("link_errors", (199,)),
    ):
        raws = [raw for n in numbers if (raw := _whole(attributes.get(n), "raw", "value")) is not None]
        found[key] = max(raws, default=None)
    # Life left, under the numbers that makers of flash use.
    left = [v for n in (231, 233, 202, 177) if (v := _whole(attributes.get(n), "value")) is not None]
    if left and _at(told, "rotation_rate") == 0:
        found["used"] = max(0.0, (100 - left[0]) / 100)
    errors = [_whole(told, "scsi_error_counter_log", way, "total_uncorrected_errors") for way in ("read", "write")]
    if any(e is not None for e in errors):
        found["uncorrected"] = sum(e or 0 for e in errors)
        found["reallocated"] = _whole(told, "scsi_grown_defect_list")
    if (used := _whole(told, "scsi_percentage_used_endurance_indicator")) is not None:
        found["used"] = used / 100
    log = _at(told, "nvme_smart_health_information_log")
    if isinstance(log, dict):
        found |= _log(log, 0.0)
    kept = {key: value for key, value in found.items() if value is not None}
    return {"source": "smartctl", **kept} if kept else {}


def _nvme(told: dict[str, Any]) -> dict[str, Any]:
    """nvme-cli's document; its temperature is in kelvin."""
    kept = {key: value for key, value in _log(told, _KELVIN).items() if value is not None}
    return {"source": "nvme", **kept} if kept else {}


def _log(log: dict[str, Any], zero: float) -> dict[str, Any]:
    """The fields of NVMe's SMART log, as both programs name them (nvme-cli shortens some)."""

    def first(*names: str) -> int | None:
        return next((v for name in names if (v := _whole(log, name)) is not None), None)

    celsius, used, spare = (
        first("temperature"),
        first("percentage_used", "percent_used"),
        first("available_spare", "avail_spare"),
    )
    throttled = [first("warning_temp_time"), first("critical_comp_time", "critical_temp_time")]
    warning = first("critical_warning")
    return {
        "celsius": None if celsius is None else round(celsius - zero, 1),
        "used": None if used is None else used / 100,
        "spare": None if spare is None else spare / 100,
        "hours": first("power_on_hours"),
        "uncorrected": first("media_errors"),
        "critical": warning,
        "passed": None if warning is None else warning == 0,
        "hot_seconds": sum(t or 0 for t in throttled) * 60 if any(t is not None for t in throttled) else None,
    }


def _at(told: Any, *path: str) -> Any:
    for key in path:
        told = told.get(key) if isinstance(told, dict) else None
    return told


def _number(told: Any, *path: str) -> float | None:
    found = _at(told, *path)
    return float(found) if isinstance(found, (int, float)) and not isinstance(found, bool) else None


def _whole(told: Any, *path: str) -> int | None:
    found = _at(told, *path)
    if isinstance(found, str) and re.fullmatch(r"\d{1,18}", found):
        found = int(found)
    return found if isinstance(found, int) and not isinstance(found, bool) and found >= 0 else None


def _rows(told: Any, *path: str) -> list[dict[str, Any]]:
    found = _at(told, *path)
    return [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []


def _messages(told: dict[str, Any]) -> list[dict[str, Any]]:
    return _rows(told, "smartctl", "messages")


def _text(told: Any, *path: str) -> str:
    found = _at(told, *path)
    return found.upper() if isinstance(found, str) else ""
