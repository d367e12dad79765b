"""The server has too little CPU time: requests wait for it while wire and disk are idle."""

from __future__ import annotations

from strata.model.finding import Cause
from strata_lab import cgroups, proc
from strata_lab.inject._wire import server_node
from strata_lab.lab import Lab
from strata_lab.truth import How, Injection, ProofCell, Signal, per_severity


def _inject(lab: Lab, value: float) -> None:
    server_node(lab)
    group = cgroups.limited(lab, "servers", value)
    for name in {f["process"] for f in lab.facts("server")}:
        cgroups.join(group, proc.family(lab.process(name).pid))


INJECTION = Injection(
    title="server CPU",
    kind="server",
    layer="top",
    mechanism="the servers are in a control group with this share of one CPU, in periods of 10 ms",
    value=per_severity(0.15, 0.1, 0.05),
    unit="CPUs",
    inject=_inject,
    cell=ProofCell("top", "randread", "8k", 16),
    impact=per_severity(1.2, 1.5, 2.5),
    signals=(Signal("throttled_ms", How.ABOVE, 50), Signal("disk.service_us", How.STAYS, 1.5)),
    must=(Cause.PROCESSORS, Cause.QUOTA),
    never=(Cause.MEDIUM, Cause.WIRE_BANDWIDTH),
    stack="block-share",
    # A quick medium: otherwise the server has nothing to do.
    options={"model": "c=16 svc=200", "rate": "0"},
    everyday=True,
)
