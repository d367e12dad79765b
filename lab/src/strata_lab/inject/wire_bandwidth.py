"""The server's card is slower than what is behind it."""

from __future__ import annotations

from strata.model.finding import Cause
from strata_lab.inject._wire import of_the_wire, server_node
from strata_lab.lab import Lab
from strata_lab.servers import nbd
from strata_lab.truth import How, ProofCell, Signal, per_severity


def _inject(lab: Lab, value: float) -> None:
    if lab.reduced:
        nbd.reshape(lab, "--bandwidth", str(int(value * 1e6)))
        return
    node = server_node(lab)
    for nic in range(len(node.addresses)):
        lab.shape(node, nic, value * 1e6)


INJECTION = of_the_wire(
    title="wire bandwidth",
    mechanism="a token bucket at both ends of each link of the server (tc tbf)",
    value=per_severity(50, 12.5, 2.5),
    unit="MB/s of each card (healthy: 125)",
    inject=_inject,
    cell=ProofCell("top", "read", "128k", 8),
    impact=per_severity(1.5, 4, 15),
    signals=(Signal("wire.held", How.ABOVE, 20), Signal("disk.service_us", How.STAYS, 1.5)),
    must=(Cause.WIRE_BANDWIDTH,),
    never=(Cause.MEDIUM, Cause.WIRE_LATENCY, Cause.PROCESSORS),
    ceiling=lambda mb_s: mb_s * 1e6 / 131072,
)
