"""The wire loses frames: TCP sends them again, and what waits behind them waits along."""

from __future__ import annotations

from strata.model.finding import Cause
from strata_lab.inject._wire import of_the_wire, slowed
from strata_lab.truth import How, ImpactMetric, ProofCell, Signal, per_severity

INJECTION = of_the_wire(
    title="loss",
    mechanism="a hop between the port of the server and the bridge drops frames at random, in each direction",
    value=per_severity(20000, 40000, 100000),
    unit="of a million frames",
    inject=lambda lab, value: slowed(lab, f"loss={value:g}"),
    # One at a time: what is lost at the end of an answer has nothing behind it that would show the gap.
    cell=ProofCell("top", "randread", "8k", 1, runtime="1500ms"),
    impact=per_severity(1.3, 2, 4),
    hurts=ImpactMetric.TAIL,
    signals=(Signal("hop.lost", How.ABOVE, 3), Signal("tcp.n1.retransmits", How.ABOVE, 1)),
    must=(Cause.WIRE_LOSS,),
    never=(Cause.MEDIUM, Cause.PROCESSORS),
)
