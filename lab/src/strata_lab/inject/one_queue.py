"""Everything goes through one queue: alone an I/O is as fast as ever, together they wait for each other."""

from __future__ import annotations

from strata.model.finding import Cause
from strata_lab.inject._disk import model, most, of_the_disk
from strata_lab.truth import How, ProofCell, Signal, per_severity

INJECTION = of_the_disk(
    title="one queue or lock",
    mechanism="the modelled disk serves this many I/Os concurrently (c); the service time of each is unchanged",
    value=per_severity(3, 2, 1),
    unit="concurrent I/Os (healthy: 4)",
    bounds=(1, 4),
    whole=True,
    inject=model("c={value}"),
    cell=ProofCell("file system", "randread", "8k", 8),
    impact=per_severity(1.12, 1.6, 2.8),
    signals=(Signal("disk.service_us", How.STAYS, 1.2), Signal("disk.wait_us", How.RISES, 1.4)),
    must=(Cause.LIMITED_QUEUE,),
    ceiling=lambda servers: most(8192, servers=servers),
)
