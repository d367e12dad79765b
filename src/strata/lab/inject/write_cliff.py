"""A write cache hides the medium until it is full; then writes go at the speed at which it drains."""

from __future__ import annotations

from strata.lab.inject._disk import model
from strata.lab.truth import Cell, How, Injection, Signal, per_severity
from strata.model.finding import Cause

INJECTION = Injection(
    title="write cache with a cliff",
    kind="medium",
    layer="disk",
    mechanism="the modelled disk takes writes into 4 MiB and drains them at the given rate (wcache, drain)",
    value=per_severity(12, 6, 3),
    unit="MB/s of draining (healthy: 40 MB/s without a cache)",
    inject=model("wcache=4MiB drain={value}"),
    # Longer than the cache lasts: the first writes are faster than healthy ones, the others pay.
    cell=Cell("file system", "randwrite", "8k", 8, runtime="2s"),
    impact=per_severity(1.25, 2, 4),
    signals=(Signal("disk.absorbed", How.ABOVE, 100), Signal("disk.full", How.ABOVE, 50)),
    must=(Cause.MEDIUM,),
    never=(Cause.WIRE_BANDWIDTH, Cause.WIRE_LATENCY, Cause.REMOTE_CAP, Cause.PROCESSORS),
)
