"""The kernel cuts large requests into small ones; each pays the medium's cost of a request."""

from __future__ import annotations

from strata.errors import RunFailed
from strata.model.finding import Cause
from strata_lab import disks
from strata_lab.inject._disk import most, of_the_disk
from strata_lab.lab import Lab
from strata_lab.truth import How, ProofCell, Signal, per_severity


def _inject(lab: Lab, value: float) -> None:
    volume = lab.last_fact("volume")
    if volume is None or not volume["device"]:
        raise RunFailed("cannot split requests of", lab.name, "it has no block device of its own")
    disks.set_queue(lab, volume["device"], "max_sectors_kb", f"{value:g}")


INJECTION = of_the_disk(
    title="split I/O",
    mechanism="the loop device splits requests above this size (queue/max_sectors_kb)",
    value=per_severity(128, 64, 16),
    unit="KiB",
    bounds=(4, 1024),
    whole=True,
    inject=_inject,
    cell=ProofCell("file system", "randread", "256k", 8),
    impact=per_severity(1.15, 1.4, 4),
    signals=(Signal("disk.ios_per_io", How.RISES, 1.5), Signal("disk.service_us", How.FALLS, 1.1)),
    must=(Cause.SPLITS,),
    ceiling=lambda kib: most(int(kib * 1024)) * kib / 256,
    everyday=True,
)
