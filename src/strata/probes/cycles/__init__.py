"""CPU cycles and instructions, counted by the CPUs themselves, kernel and user apart.

Reads    perf_event_open(2): PERF_COUNT_HW_CPU_CYCLES and PERF_COUNT_HW_INSTRUCTIONS, of every CPU.
Makes    ``cpu_cycles`` (cycles, counter), ``cpu_instructions`` (instructions, counter), both with
         ``{cpu=0|1…, mode=user|kernel}``. Where more events were asked for than the CPU counts at once, the
         kernel takes turns and the value is scaled by enabled/running time.
Costs    15 µs per sample where there is no such counter. Where there is: not measured yet (4 descriptors a CPU).
Needs    a CPU that counts (many virtual machines hide it) and perf_event_paranoid ≤ 0 or CAP_PERFMON.
Blind to which process spent them; idle CPUs, which do not cycle.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import platform
import struct
from collections.abc import Callable, Sequence

from strata.model.counters import cpu as counted
from strata.probes.port import Column, Probe, ProbeScope

_NUMBER = {"x86_64": 298, "aarch64": 241}
_HARDWARE = 0
_EVENTS = ((counted.CYCLES, 0), (counted.INSTRUCTIONS, 1))
# Bits of perf_event_attr: exclude_user, exclude_kernel, exclude_hv.
_EXCLUDE = {"kernel": 1 << 4 | 1 << 6, "user": 1 << 5 | 1 << 6}
_TIMES = 1 | 2  # PERF_FORMAT_TOTAL_TIME_ENABLED | _RUNNING
_ATTR_BYTES = 64
_CLOEXEC = 8
_WHY = {
    errno.ENOENT: "the CPU has no counters, or the hypervisor hides them",
    errno.EOPNOTSUPP: "the CPU has no counters, or the hypervisor hides them",
    errno.ENODEV: "the CPU has no counters, or the hypervisor hides them",
    errno.EACCES: "not allowed (perf_event_paranoid; CAP_PERFMON)",
    errno.EPERM: "not allowed (perf_event_paranoid; CAP_PERFMON)",
    errno.ENOSYS: "the kernel has no perf_event_open",
}

Call = Callable[[bytes, int], int]
"""(perf_event_attr, CPU) -> a descriptor. Raises `OSError`."""


def perf_event_open(attr: bytes, cpu: int) -> int:
    """Counts on ``cpu``, whoever runs there. Raises `OSError`."""
    number = _NUMBER.get(platform.machine())
    if number is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    found: int = ctypes.CDLL(None, use_errno=True).syscall(number, attr, -1, cpu, -1, ctypes.c_ulong(_CLOEXEC))
    if found < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return found


def attr_of(event: int, mode: str) -> bytes:
    """``struct perf_event_attr`` of its first published size, 64 bytes: type, size, config, …, read_format, flags."""
    head = struct.pack("=IIQQQQQ", _HARDWARE, _ATTR_BYTES, event, 0, 0, _TIMES, _EXCLUDE[mode])
    return head + bytes(_ATTR_BYTES - len(head))


def scaled(data: bytes) -> float | None:
    """The count as if it had run all the time; None when it never ran."""
    if len(data) != 24:
        return None
    value, enabled, running = struct.unpack("=QQQ", data)
    return None if running == 0 else value * (enabled / running)


class CyclesProbe(Probe):
    def __init__(self, cpus: Sequence[int], call: Call) -> None:
        super().__init__()
        self._files: list[int] = []
        columns = []
        try:
            for cpu in cpus:
                for counter, event in _EVENTS:
                    for mode in _EXCLUDE:
                        self._files.append(call(attr_of(event, mode), cpu))
                        columns.append(Column(counter, {"cpu": str(cpu), "mode": mode}))
        except OSError as e:
            # Half of the processors would be read as the whole machine: all or nothing.
            self.close()
            columns = []
            self.absent = (f"no cycles: {_WHY.get(e.errno or 0, e.strerror)}",)
        self.columns = tuple(columns)
        self._last = [0.0] * len(columns)

    def read(self) -> Sequence[float | None]:
        if not self._files:
            return [None] * len(self.columns)
        values: list[float | None] = []
        for place, fd in enumerate(self._files):
            try:
                value = scaled(os.read(fd, 24))
            except OSError:
                value = None
            if value is not None:
                # Scaling may step back by a little when the shares of time change; a counter does not.
                value = self._last[place] = max(value, self._last[place])
            values.append(value)
        return values

    def close(self) -> None:
        super().close()
        files, self._files = self._files, []
        for fd in files:
            with contextlib.suppress(OSError):
                os.close(fd)


def open_probe(scope: ProbeScope) -> Probe:
    """Of the whole machine."""
    return CyclesProbe(range(os.cpu_count() or 0) if scope.sys.live else (), perf_event_open)
