"""The server is far away: every frame takes longer, in both directions."""

from __future__ import annotations

from strata.model.finding import Cause
from strata_lab.inject._wire import of_the_wire, slowed
from strata_lab.lab import Lab
from strata_lab.truth import How, ProofCell, Signal, per_severity


def _inject(lab: Lab, value: float) -> None:
    slowed(lab, f"delay={value:g}", ("--latency", f"{2 * value:g}us"))


INJECTION = of_the_wire(
    title="wire latency",
    mechanism="a hop between the port of the server and the bridge delays every frame by this time, in each direction",
    value=per_severity(500, 2000, 10000),
    unit="µs in each direction",
    inject=_inject,
    cell=ProofCell("top", "randread", "8k", 1),
    impact=per_severity(1.5, 3, 10),
    signals=(Signal("hop.frames", How.ABOVE, 50), Signal("disk.service_us", How.STAYS, 1.3)),
    must=(Cause.WIRE_LATENCY,),
    never=(Cause.MEDIUM, Cause.WIRE_BANDWIDTH, Cause.PROCESSORS),
    ceiling=lambda way_us: 1e6 / (2 * way_us + 833),
)
