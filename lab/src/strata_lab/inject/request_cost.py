"""The server takes longer for every request, however many it has at once: nothing is full."""

from __future__ import annotations

from strata.model.finding import Cause
from strata_lab.inject._disk import CALM
from strata_lab.inject._wire import check_alone, of_the_server
from strata_lab.lab import Lab
from strata_lab.servers import nbd
from strata_lab.truth import How, ProofCell, Signal, per_severity

_AT_ONCE = 64
"""More than are ever outstanding: no request waits for another."""


def _inject(lab: Lab, value: float) -> None:
    check_alone(lab, "server-threads")
    nbd.reshape(lab, "--service-threads", str(_AT_ONCE), "--service-time", f"{value:g}us")


INJECTION = of_the_server(
    title="a cost of each request",
    mechanism="Strata's own server takes so much longer for each request, 64 at once (--service-time)",
    value=per_severity(1500, 4000, 12000),
    unit="µs",
    bounds=(1, 999_999),
    inject=_inject,
    cell=ProofCell("top", "randread", "8k", 1),
    impact=per_severity(1.3, 2, 4),
    signals=(Signal("disk.service_us", How.STAYS, 1.3),),
    must=(Cause.PER_REQUEST_COST,),
    never=(Cause.MEDIUM, Cause.WIRE_BANDWIDTH, Cause.WIRE_LATENCY, Cause.PROCESSORS),
    options={**CALM, "server": "strata", "rate": "0"},
    # One at a time waits for its own time and no less.
    ceiling=lambda us: 1e6 / us,
)
