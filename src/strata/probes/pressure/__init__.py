"""Pressure stall information: time in which work stood still for want of something.

Reads    /proc/pressure/cpu, /proc/pressure/io, /proc/pressure/memory.
Makes    ``pressure_seconds{resource=cpu|io|memory, kind=some|full}`` (s, counter): at least one task, or all
         tasks, waited.
Costs    10.8 µs per sample.
Needs    Linux 4.20 with PSI switched on (psi=1 where the distribution leaves it off).
Blind to which task waited, and for which device: all of the machine is in one number.
"""

from __future__ import annotations

from collections.abc import Sequence

from strata.host.proc import Sys
from strata.model.series import SeriesKind
from strata.probes.port import Column, Kept, Probe

_RESOURCES = ("cpu", "io", "memory")


class PressureProbe:
    """See the module."""

    def __init__(self, sys: Sys) -> None:
        self._files = {r: Kept(f"/proc/pressure/{r}", sys) for r in _RESOURCES}
        self._keys = tuple(self._rows())
        self.columns: tuple[Column, ...] = tuple(
            Column("pressure_seconds", "s", SeriesKind.COUNTER, {"resource": resource, "kind": kind})
            for resource, kind in self._keys
        )

    def read(self) -> Sequence[float | None]:
        rows = self._rows()
        return [rows.get(key) for key in self._keys]

    def close(self) -> None:
        for file in self._files.values():
            file.close()

    def _rows(self) -> dict[tuple[str, str], float]:
        found = {}
        for resource, file in self._files.items():
            for line in file.read().split(b"\n"):
                kind, _, total = line.partition(b" ")[0], *line.rpartition(b"total=")[1:]
                if total.isdigit():
                    found[resource, kind.decode()] = int(total) / 1e6
        return found


def open_probe(devices: Sequence[str], sys: Sys) -> Probe:
    """``devices`` does not matter here."""
    return PressureProbe(sys)
