"""Counters of the machine, read beside a measurement.

Adding a probe: one folder whose ``open_probe(devices, sys)`` gives a `Probe`, and its line in `PROBES`.
"""

from __future__ import annotations

from strata.probes import blockdev, cpu, memory, net, pressure
from strata.probes.port import Opener, Probe
from strata.probes.sampler import Sampler

__all__ = ["PROBES", "Opener", "Probe", "Sampler"]

PROBES: dict[str, Opener] = {
    "cpu": cpu.open_probe,
    "blockdev": blockdev.open_probe,
    "net": net.open_probe,
    "pressure": pressure.open_probe,
    "memory": memory.open_probe,
}
