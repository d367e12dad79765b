"""Pressure stall information: time in which work stood still for want of something.

Reads    /proc/pressure/cpu, io, memory, irq.
Makes    ``pressure_seconds{resource=cpu|io|memory|irq, kind=some|full}`` (s, counter): at least one task, or all
         tasks, waited.
Costs    91 µs per sample.
Needs    Linux 4.20 with PSI switched on (psi=1 where the distribution leaves it off).
Blind to which task waited, and for which device: all of the machine is in one number.
"""

from __future__ import annotations

from collections.abc import Sequence

from strata.model.counters import pressure
from strata.probes.port import Column, Probe, Reader, Scope


class PressureProbe(Reader):
    """See the module."""

    def __init__(self, scope: Scope) -> None:
        super().__init__()
        self._files = {r: self.keep(f"/proc/pressure/{r}", scope) for r in pressure.RESOURCES}
        self._keys = tuple(self._rows())
        if not self._keys:
            self.absent = ("the kernel does not account for pressure (psi=1)",)
        self.columns = tuple(
            Column(pressure.SECONDS, {"resource": resource, "kind": kind}) for resource, kind in self._keys
        )

    def read(self) -> Sequence[float | None]:
        rows = self._rows()
        return [rows.get(key) for key in self._keys]

    def _rows(self) -> dict[tuple[str, str], float]:
        found = {}
        for resource, file in self._files.items():
            for line in file.read().split(b"\n"):
                kind, _, total = line.partition(b" ")[0], *line.rpartition(b"total=")[1:]
                if total.isdigit():
                    found[resource, kind.decode()] = int(total) / 1e6
        return found


def open_probe(scope: Scope) -> Probe:
    """Of the whole machine."""
    return PressureProbe(scope)
