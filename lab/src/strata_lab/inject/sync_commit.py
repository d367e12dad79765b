"""Each commit waits until the medium says that it is durable."""

from __future__ import annotations

from strata.model.finding import Cause
from strata_lab.inject._disk import model
from strata_lab.truth import How, Injection, ProofCell, Signal, per_severity

INJECTION = Injection(
    title="synchronous commit",
    kind="medium",
    layer="disk",
    mechanism="a flush of the modelled disk takes this long (flush); the workload flushes after every write",
    value=per_severity(2000, 8000, 30000),
    unit="µs for a flush (healthy: 0)",
    inject=model("flush={value}"),
    cell=ProofCell("file system", "randwrite", "8k", 1, ("--fdatasync", "1")),
    impact=per_severity(1.5, 3, 8),
    signals=(Signal("disk.flush_us", How.ABOVE, 1500), Signal("disk.service_us", How.STAYS, 1.3)),
    must=(Cause.SLOW_FLUSH,),
    also=("file system",),
    never=(Cause.WIRE_BANDWIDTH, Cause.WIRE_LATENCY, Cause.IOPS_CAP, Cause.PROCESSORS),
    ceiling=lambda flush_us: 1e6 / (flush_us + 833),
)
