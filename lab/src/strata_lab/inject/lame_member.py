"""One member of a striped medium is slower than the others: everything that touches it waits."""

from __future__ import annotations

from strata.model.finding import Cause
from strata_lab.inject._disk import model, most, of_the_disk
from strata_lab.truth import How, ProofCell, Signal, per_severity

INJECTION = of_the_disk(
    title="one slow member of several",
    mechanism="the modelled disk stripes over four members of one server each; one of them takes longer (lame_factor)",
    value=per_severity(3, 6, 15),
    unit="times slower than its peers",
    inject=model("lame=1 lame_factor={value}"),
    cell=ProofCell("file system", "randread", "8k", 8),
    impact=per_severity(1.4, 2.2, 4),
    signals=(Signal("disk.member_busy_ratio", How.RISES, 1.25),),
    must=(Cause.SLOW_MEMBER,),
    partly=(Cause.SLOW_MEDIUM,),
    # Every fourth I/O goes to it, and the others wait for that one.
    ceiling=lambda factor: most(8192) / factor,
    options={"model": "c=1 members=4 svc=2400 bw=250"},
)
