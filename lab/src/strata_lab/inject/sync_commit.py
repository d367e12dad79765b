"""Each commit waits until the medium says that it is durable."""

from __future__ import annotations

from strata.model.finding import Cause
from strata_lab.inject._disk import model, of_the_disk
from strata_lab.truth import How, ProofCell, Signal, per_severity

INJECTION = of_the_disk(
    title="synchronous commit",
    mechanism="a flush of the modelled disk takes this long (flush); the workload flushes after every write",
    value=per_severity(2000, 8000, 30000),
    unit="µs for a flush (healthy: 0)",
    inject=model("flush={value}"),
    cell=ProofCell("file system", "randwrite", "8k", 1, ("--fdatasync", "1")),
    impact=per_severity(1.5, 3, 8),
    signals=(Signal("disk.flush_us", How.ABOVE, 1500), Signal("disk.service_us", How.STAYS, 1.3)),
    must=(Cause.SLOW_FLUSH,),
    also=("file system",),
    options={},
    ceiling=lambda flush_us: 1e6 / (flush_us + 833),
)
