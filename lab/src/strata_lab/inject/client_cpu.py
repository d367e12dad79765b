"""The client has too little CPU time: it cannot ask for more."""

from __future__ import annotations

from strata.model.finding import Cause
from strata_lab import cgroups
from strata_lab.inject._wire import client_node
from strata_lab.lab import Lab
from strata_lab.truth import How, Injection, ProofCell, Signal, per_severity


def _inject(lab: Lab, value: float) -> None:
    node = client_node(lab)
    cgroups.limited(lab, f"clients-{node.name}", value, clients_of=node.name)


INJECTION = Injection(
    title="client CPU",
    kind="client",
    layer="top",
    mechanism="commands run in the client node by `strata lab exec` are in a control group with this share of one CPU",
    value=per_severity(0.015, 0.008, 0.004),
    unit="CPUs",
    inject=_inject,
    # Long: the limit is put on when the client has begun, which on a busy machine is seen late.
    cell=ProofCell("top", "randread", "8k", 16, runtime="2500ms"),
    impact=per_severity(1.2, 1.5, 1.8),
    signals=(Signal("throttled_ms", How.ABOVE, 50), Signal("disk.service_us", How.STAYS, 1.5)),
    must=(Cause.GENERATOR, Cause.CLIENT_PROCESSORS),
    partly=(Cause.PROCESSORS, Cause.QUOTA),
    never=(Cause.MEDIUM, Cause.WIRE_BANDWIDTH),
    stack="block-share",
    options={"model": "c=16 svc=200", "rate": "0"},
    everyday=True,
)
