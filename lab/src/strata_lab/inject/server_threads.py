"""The server has few threads: so many requests are served at once, the others wait in it."""

from __future__ import annotations

from strata.model.finding import Cause
from strata_lab.inject._disk import CALM, most
from strata_lab.inject._wire import check_alone, of_the_server
from strata_lab.lab import Lab
from strata_lab.servers import nbd
from strata_lab.truth import How, ProofCell, Signal, per_severity


def _inject(lab: Lab, value: float) -> None:
    check_alone(lab, "request-cost")
    nbd.reshape(lab, "--service-threads", f"{value:g}", "--service-time", "1us")


INJECTION = of_the_server(
    title="few threads of the server",
    mechanism="Strata's own server serves this many requests at once (--service-threads)",
    value=per_severity(3, 2, 1),
    unit="requests at once (the disk: 4)",
    bounds=(1, 4),
    whole=True,
    inject=_inject,
    cell=ProofCell("top", "randread", "8k", 8),
    impact=per_severity(1.12, 1.6, 2.8),
    signals=(Signal("disk.service_us", How.STAYS, 1.2),),
    must=(Cause.LIMITED_QUEUE, Cause.SINGLE_THREAD),
    # One at a time is a cost that more depth does not hide.
    partly=(Cause.PER_REQUEST_COST, Cause.IOPS_CAP),
    never=(Cause.MEDIUM, Cause.WIRE_BANDWIDTH, Cause.WIRE_LATENCY),
    options={**CALM, "server": "strata", "rate": "0"},
    ceiling=lambda threads: most(8192, servers=threads),
)
