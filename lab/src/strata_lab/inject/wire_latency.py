"""The server is far away: every frame takes longer, in both directions."""

from __future__ import annotations

from strata.model.finding import Cause
from strata_lab.inject._wire import server_node
from strata_lab.lab import Lab
from strata_lab.servers import nbd
from strata_lab.truth import How, Injection, ProofCell, Signal, per_severity


def _inject(lab: Lab, value: float) -> None:
    if lab.reduced:
        nbd.reshape(lab, "--latency", f"{2 * value:g}us")
        return
    node = server_node(lab)
    for nic in range(len(node.addresses)):
        lab.hop(node, nic, f"delay={value:g}")


INJECTION = Injection(
    title="wire latency",
    kind="wire",
    layer="top",
    mechanism="a hop between the port of the server and the bridge delays every frame by this time, in each direction",
    value=per_severity(500, 2000, 10000),
    unit="µs in each direction",
    inject=_inject,
    cell=ProofCell("top", "randread", "8k", 1),
    impact=per_severity(1.5, 3, 10),
    signals=(Signal("hop.frames", How.ABOVE, 50), Signal("disk.service_us", How.STAYS, 1.3)),
    must=(Cause.WIRE_LATENCY,),
    never=(Cause.MEDIUM, Cause.WIRE_BANDWIDTH, Cause.PROCESSORS),
    stack="block-share",
    ceiling=lambda way_us: 1e6 / (2 * way_us + 833),
    everyday=True,
)
