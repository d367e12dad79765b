"""The health of NVMe devices, as they tell it themselves.

Reads    log page 2 (SMART / health information) of the controllers under the devices it is given, by an admin command.
         Read at the two ends of a measurement only, not between: it takes a place in the device's own queue.
Makes    with ``{device=…}``: ``nvme_temperature_kelvin`` (K, gauge), ``nvme_spare_share``, ``nvme_used_share`` (1,
         gauge), ``nvme_critical_warning`` (bits, gauge), ``nvme_read_bytes``, ``nvme_written_bytes`` (B, counter: in
         the device's units of 512 000), ``nvme_media_errors`` (errors, counter), ``nvme_throttled_seconds`` (s,
         counter: hot, and slowed by itself, in whole minutes or seconds as the device counts).
Costs    17 µs per sample without such a device. With one: not measured yet; two readings a measurement.
Needs    /dev/nvme*, root.
Blind to SATA and SAS devices: their pages need a pass-through that may wake a sleeping disk (smartctl -A shows them);
         virtual disks, which have no health.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import re
import struct
from collections.abc import Callable, Sequence

from strata.host.proc import descriptor
from strata.model.counters import health
from strata.probes.port import Probe, ProbeScope, TableProbe, Told

AT_EDGES = True

_ADMIN = 0xC0484E41  # NVME_IOCTL_ADMIN_CMD
_COMMAND = struct.Struct("=BBHIIIQQIIIIIIIIII")
_GET_LOG_PAGE, _SMART, _ALL = 0x02, 0x02, 0xFFFFFFFF
PAGE_BYTES = 512
_UNIT = 512_000.0
_FIELDS = (
    health.CRITICAL_WARNING,
    health.TEMPERATURE,
    health.SPARE,
    health.USED,
    health.READ_BYTES,
    health.WRITTEN_BYTES,
    health.MEDIA_ERRORS,
    health.THROTTLED,
)

Fetch = Callable[[str], bytes]
"""Controller (``/dev/nvme0``) -> the page. Raises `OSError`."""


def fetch(controller: str) -> bytes:
    """Asks the controller. Raises `OSError`."""
    page = ctypes.create_string_buffer(PAGE_BYTES)
    words = PAGE_BYTES // 4 - 1
    command = bytearray(
        _COMMAND.pack(
            _GET_LOG_PAGE, 0, 0, _ALL, 0, 0, 0, ctypes.addressof(page), 0, PAGE_BYTES, words << 16 | _SMART,
            0, 0, 0, 0, 0, 0,
        )
    )  # fmt: skip
    with descriptor(controller, os.O_RDONLY) as fd:
        if (status := fcntl.ioctl(fd, _ADMIN, command)) != 0:
            raise OSError(f"the controller refused the log page (status {status:#x})")
    return page.raw


def parse(page: bytes) -> tuple[float, ...]:
    """The fields in the order of `_FIELDS` (NVM Express base specification 2.0, figure 207: SMART / health log)."""
    warning, temperature, spare, _, used = struct.unpack_from("<BHBBB", page, 0)
    long = [int.from_bytes(page[at : at + 16], "little") for at in (32, 48, 160)]
    minutes = struct.unpack_from("<I", page, 192)[0]
    throttled = sum(struct.unpack_from("<II", page, 224))
    return (
        warning,
        temperature,
        spare / 100,
        used / 100,
        long[0] * _UNIT,
        long[1] * _UNIT,
        long[2],
        throttled + minutes * 60,
    )


class HealthProbe(TableProbe):
    def __init__(self, devices: Sequence[str], ask: Fetch) -> None:
        super().__init__()
        self._ask = ask
        names = [device.removeprefix("/dev/") for device in devices]
        wanted = {name: f"/dev/{m.group()}" for name in names if (m := re.match(r"nvme\d+", name))}
        self._controllers: dict[str, str] = {}
        absent = [] if wanted else ["no NVMe device; the health of others is not read"]
        for name, controller in wanted.items():
            try:
                ask(controller)
                self._controllers[name] = controller
            except OSError as e:
                # It is not asked again.
                absent.append(f"health of {name}: {e.strerror or e}")
        self.absent = tuple(absent)
        self.begin()

    def told(self) -> Told:
        found: Told = {}
        for name, controller in self._controllers.items():
            with contextlib.suppress(OSError):
                page = self._ask(controller)
                if len(page) == PAGE_BYTES:
                    found |= {(counter, (name,)): value for counter, value in zip(_FIELDS, parse(page), strict=True)}
        return found


def open_probe(scope: ProbeScope) -> Probe:
    """Of ``scope.devices``."""
    return HealthProbe(scope.devices if scope.sys.live else (), fetch)
