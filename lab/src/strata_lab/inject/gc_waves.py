"""The medium is fast and slow by turns, as flash that collects garbage is."""

from __future__ import annotations

from strata.model.finding import Cause
from strata_lab.inject._disk import model, most, of_the_disk
from strata_lab.truth import How, ProofCell, Signal, per_severity

INJECTION = of_the_disk(
    title="GC-like oscillation",
    mechanism="the modelled disk is slower for 240 ms of every 400 ms (gc_every, gc_for, gc_factor)",
    value=per_severity(3, 8, 30),
    unit="times slower in the slow half",
    inject=model("gc_every=400 gc_for=240 gc_factor={value}"),
    cell=ProofCell("file system", "randread", "8k", 8, runtime="1200ms"),
    impact=per_severity(1.2, 1.35, 1.5),
    signals=(Signal("disk.slowed_us", How.ABOVE, 100), Signal("disk.service_us", How.RISES, 1.3)),
    must=(Cause.SLOW_PHASES,),
    partly=(Cause.STALLS,),
    ceiling=lambda factor: most(8192) * (0.4 + 0.6 / factor),
)
