"""Every I/O takes the medium longer."""

from __future__ import annotations

from strata.model.finding import Cause
from strata_lab.inject._disk import model, most, of_the_disk
from strata_lab.truth import How, ProofCell, Signal, per_severity

INJECTION = of_the_disk(
    title="slow medium",
    mechanism="the modelled disk has a longer service time (svc); the number of servers is unchanged",
    value=per_severity(4800, 9600, 24000),
    unit="µs of service time (healthy: 2400)",
    inject=model("svc={value}"),
    cell=ProofCell("file system", "randread", "8k", 8),
    impact=per_severity(1.4, 2.4, 5),
    signals=(Signal("disk.service_us", How.RISES, 1.7),),
    must=(Cause.SLOW_MEDIUM, Cause.MEDIUM),
    ceiling=lambda svc_us: most(8192, svc_us),
    everyday=True,
)
