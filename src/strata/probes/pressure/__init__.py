"""Pressure stall information: time in which work stood still for want of something.

Reads    /proc/pressure/cpu, io, memory, irq.
Makes    ``pressure_seconds{resource=cpu|io|memory|irq, kind=some|full}`` (s, counter): at least one task, or all
         tasks, waited.
Costs    91 µs per sample.
Needs    Linux 4.20 with PSI switched on (psi=1 where the distribution leaves it off).
Blind to which task waited, and for which device: all of the machine is in one number.
"""

from __future__ import annotations

from strata.model.counters import pressure
from strata.probes.port import ProbeScope, TableProbe, Told


class PressureProbe(TableProbe):
    """Of the whole machine."""

    def __init__(self, scope: ProbeScope) -> None:
        super().__init__()
        self._files = {r: self.keep(f"/proc/pressure/{r}", scope) for r in pressure.RESOURCES}
        self.begin()
        if not self.columns:
            self.absent = ("the kernel does not measure pressure (boot it with psi=1)",)

    def told(self) -> Told:
        found: Told = {}
        for resource, file in self._files.items():
            for line in file.read().split(b"\n"):
                kind, _, total = line.partition(b" ")[0], *line.rpartition(b"total=")[1:]
                if total.isdigit():
                    found[pressure.SECONDS, (resource, kind.decode())] = int(total) / 1e6
        return found


open_probe = PressureProbe
