"""Somebody else reads from the same disk."""

from __future__ import annotations

from strata.errors import RunFailed
from strata.host import programs
from strata.model.finding import Cause
from strata_lab.inject._disk import CALM, medium, most
from strata_lab.lab import Lab
from strata_lab.truth import How, Injection, ProofCell, Signal, per_severity

_A_DAY = "24h"


def _inject(lab: Lab, value: float) -> None:
    volume = lab.last_fact("volume")
    if volume is None or not volume["device"]:
        raise RunFailed("cannot load the disk of", lab.name, "it has no block device of its own")
    disk = medium(lab)
    before = disk.truth().read.n
    words = programs.python("strata", "measure", f"block:{volume['device']}", "--rw", "randread", "--bs", "8k")
    words += ["--iodepth", f"{value:g}", "--runtime", _A_DAY, "--interval", "1s", "--progress", "none"]
    lab.run(None, words, name="neighbour", wait_for=lambda: disk.truth().read.n > before + 500)


INJECTION = Injection(
    title="noisy neighbour on the disk",
    kind="neighbour",
    layer="disk",
    mechanism="a process issues random 8 KiB reads to the same loop device with this many I/Os in flight",
    value=per_severity(6, 16, 64),
    unit="I/Os of the neighbour in flight",
    bounds=(1, 1024),
    whole=True,
    inject=_inject,
    cell=ProofCell("file system", "randread", "8k", 8),
    impact=per_severity(1.3, 2, 4),
    signals=(Signal("disk.wait_us", How.RISES, 1.25), Signal("disk.service_us", How.STAYS, 1.2)),
    must=(Cause.NOISY_DEVICE,),
    never=(Cause.WIRE_BANDWIDTH, Cause.WIRE_LATENCY, Cause.IOPS_CAP),
    options=CALM,
    ceiling=lambda others: most(8192) * 8 / (8 + others),
    everyday=True,
)
