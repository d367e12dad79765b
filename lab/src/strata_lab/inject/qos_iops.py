"""A cap on requests a second, as a cloud disk or a QoS policy has it: it holds small I/Os and spares large ones."""

from __future__ import annotations

from strata.model.finding import Cause
from strata_lab.inject._disk import model, of_the_disk
from strata_lab.inject._qos import on_vm_disks
from strata_lab.truth import How, ProofCell, Signal, per_severity

INJECTION = of_the_disk(
    title="QoS cap, IOPS",
    mechanism="the modelled disk admits this many I/Os per second (iops); its service time is unchanged",
    value=per_severity(800, 300, 100),
    unit="IOPS (healthy: about 1600)",
    inject=model("iops={value}"),
    cell=ProofCell("file system", "randread", "8k", 8),
    impact=per_severity(1.5, 3.5, 10),
    signals=(Signal("disk.capped_us", How.ABOVE, 200), Signal("disk.service_us", How.STAYS, 1.3)),
    must=(Cause.IOPS_CAP,),
    never=(Cause.WIRE_BANDWIDTH, Cause.WIRE_LATENCY, Cause.PROCESSORS),
    elsewhere=on_vm_disks(
        "iops-total", per_severity(300, 100, 30), "IOPS", ProofCell("store, served", "randread", "8k", 8)
    ),
    ceiling=lambda iops: iops,
    everyday=True,
)
