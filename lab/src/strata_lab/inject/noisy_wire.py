"""Somebody else fills the wire between the same two nodes."""

from __future__ import annotations

from strata.host import programs
from strata.model.finding import Cause
from strata_lab.counters import CounterDelta
from strata_lab.inject._wire import client_node, server_node
from strata_lab.lab import Lab
from strata_lab.servers import answers
from strata_lab.truth import How, Injection, ProofCell, Signal, per_severity

_PORT, _A_DAY = 10999, "24h"
_BEGUN_BYTES = 20e6


def _inject(lab: Lab, value: float) -> None:
    server, client = server_node(lab), client_node(lab)
    serve = programs.python("strata", "target", "--null", "1g", "--listen", f"{server.address}:{_PORT}")
    lab.run(server, serve, name="neighbour-server", wait_for=answers(server, _PORT))
    words = programs.python("strata", "measure", f"nbd://{server.address}:{_PORT}/?connections={value:g}")
    words += ["--rw", "read", "--bs", "256k", "--iodepth", f"{8 * value:g}", "--runtime", _A_DAY]
    words += ["--interval", "1s", "--progress", "none"]
    counted, seen = CounterDelta(lab), f"wire.{client.name}.0.rx_bytes"
    # Its client measures its own ceiling before it begins.
    lab.run(client, words, name="neighbour", wait_for=lambda: counted.stop()[seen] > _BEGUN_BYTES)


INJECTION = Injection(
    title="noisy neighbour on the wire",
    kind="neighbour",
    layer="top",
    mechanism="a process in the client node reads from a null export on the server node over this many connections",
    value=per_severity(1, 3, 8),
    unit="connections of the neighbour",
    bounds=(1, 16),
    whole=True,
    inject=_inject,
    cell=ProofCell("top", "read", "128k", 8),
    impact=per_severity(1.3, 1.7, 3),
    signals=(Signal("disk.service_us", How.STAYS, 1.5), Signal("wire.bytes_per_byte", How.RISES, 1.2)),
    must=(Cause.NOISY_WIRE,),
    partly=(Cause.WIRE_BANDWIDTH,),
    never=(Cause.MEDIUM, Cause.PROCESSORS),
    stack="block-share",
)
