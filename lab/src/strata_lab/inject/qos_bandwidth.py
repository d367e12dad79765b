"""A cap on bytes a second: it holds large I/Os and spares small ones."""

from __future__ import annotations

from strata.model.finding import Cause
from strata_lab.inject._disk import model, of_the_disk
from strata_lab.inject._qos import on_vm_disks
from strata_lab.truth import How, ProofCell, Signal, per_severity

INJECTION = of_the_disk(
    title="QoS cap, MB/s",
    mechanism="the modelled disk admits this many bytes per second (mbps); its service time is unchanged",
    value=per_severity(60, 25, 8),
    unit="MB/s (healthy: about 180 at 128 KiB)",
    inject=model("mbps={value}"),
    cell=ProofCell("file system", "read", "128k", 8),
    impact=per_severity(1.5, 3, 9),
    signals=(Signal("disk.capped_us", How.ABOVE, 500), Signal("disk.service_us", How.STAYS, 1.3)),
    must=(Cause.BANDWIDTH_CAP,),
    never=(Cause.WIRE_BANDWIDTH, Cause.WIRE_LATENCY, Cause.PROCESSORS),
    elsewhere=on_vm_disks(
        "bps-total", per_severity(20, 8, 3), "MB/s", ProofCell("store, served", "read", "128k", 8), factor=1e6
    ),
    ceiling=lambda mb_s: mb_s * 1e6 / 131072,
)
