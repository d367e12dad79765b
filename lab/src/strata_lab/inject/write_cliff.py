"""A write cache hides the medium until it is full; then writes go at the speed at which it drains."""

from __future__ import annotations

from strata.model.finding import Cause
from strata_lab.inject._disk import model, of_the_disk
from strata_lab.truth import How, ProofCell, Signal, per_severity

INJECTION = of_the_disk(
    title="write cache with a cliff",
    mechanism="the modelled disk has a write cache of 2 MiB and drains it at this rate (wcache, drain)",
    value=per_severity(6, 3, 1.5),
    unit="MB/s drain rate (healthy: 13 MB/s without a cache)",
    inject=model("wcache=2MiB drain={value}"),
    # Longer than the cache lasts: the first writes are faster than healthy ones, the others pay.
    cell=ProofCell("file system", "randwrite", "8k", 8, runtime="2s"),
    impact=per_severity(1.25, 2, 4),
    signals=(Signal("disk.absorbed", How.ABOVE, 100), Signal("disk.full", How.ABOVE, 50)),
    must=(Cause.WRITE_CACHE_FULL,),
    also=("file system",),
    # Over the two seconds, with what the cache takes at once.
    ceiling=lambda mb_s: (mb_s + 2**20 / 1e6) * 1e6 / 8192,
)
