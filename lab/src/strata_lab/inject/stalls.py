"""The medium stops answering now and then, as a drive that retries does: most I/Os are as fast as ever."""

from __future__ import annotations

from strata.model.finding import Cause
from strata_lab.inject._disk import model, of_the_disk
from strata_lab.truth import How, ImpactMetric, ProofCell, Signal, per_severity

INJECTION = of_the_disk(
    title="fail-slow stalls",
    mechanism="the modelled disk stops for this time in every half second (stall_every, stall_for)",
    value=per_severity(60, 120, 250),
    unit="ms of stall in each 500 ms",
    inject=model("stall_every=500 stall_for={value}"),
    # The few I/Os that meet a stall are a small share of all: fewer in flight, and a longer look, put them into p99.
    cell=ProofCell("file system", "randread", "8k", 32, runtime="1200ms"),
    impact=per_severity(1.5, 2.5, 5),
    hurts=ImpactMetric.TAIL,
    signals=(Signal("disk.slowed_us", How.ABOVE, 50),),
    must=(Cause.STALLS,),
    partly=(Cause.SLOW_PHASES,),
    # What came first in a stall, behind what was under way: 32 on four servers.
    ceiling=lambda stall_ms: stall_ms + 8 * 2.43,
)
