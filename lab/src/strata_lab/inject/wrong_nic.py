"""Two ways lead to the server, and the slow one is taken."""

from __future__ import annotations

from strata.errors import RunFailed
from strata.model.finding import Cause
from strata_lab import nodes
from strata_lab.inject._wire import client_node, of_the_wire, server_node
from strata_lab.lab import Lab
from strata_lab.truth import How, ProofCell, Signal, per_severity


def _inject(lab: Lab, value: float) -> None:
    server, client = server_node(lab), client_node(lab)
    if len(server.addresses) < 2:
        raise RunFailed("cannot choose between the network cards of", server.name, "it has only one", "--set nics=2")
    lab.shape(server, 1, value * 1e6)
    # Both directions: what comes back by the other card would be dropped or be as fast as before.
    nodes.route_by(client, server.address, 1)
    nodes.route_by(server, client.address, 1)


INJECTION = of_the_wire(
    title="the wrong one of two NICs",
    mechanism="the route to the address of the first card uses the second card, which is slower (tc tbf)",
    value=per_severity(50, 12.5, 2.5),
    unit="MB/s of the second card (the first: 125)",
    inject=_inject,
    cell=ProofCell("top", "read", "128k", 8),
    impact=per_severity(1.5, 4, 15),
    signals=(Signal("wire.n2.0.rx_bytes", How.FALLS, 10), Signal("wire.n2.1.rx_bytes", How.ABOVE, 1e6)),
    must=(Cause.WRONG_CARD,),
    partly=(Cause.WIRE_BANDWIDTH,),
    never=(Cause.MEDIUM, Cause.WIRE_LATENCY, Cause.PROCESSORS),
    options={"nics": "2"},
    ceiling=lambda mb_s: mb_s * 1e6 / 131072,
)
