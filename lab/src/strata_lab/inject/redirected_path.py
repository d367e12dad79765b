"""The share's node does not reach the disk itself any more: each I/O goes to the coordinator, over a narrow network."""

from __future__ import annotations

from strata.errors import RunFailed
from strata.model.finding import Cause
from strata_lab.lab import Lab
from strata_lab.servers import direct, relay, smbd
from strata_lab.truth import How, Injection, ProofCell, Signal, per_severity

OVER_THE_CARD = (
    "share, other node",
    "share, client",
    "redirected, other node",
    "block-redirected, other node",
)


def _inject(lab: Lab, value: float) -> None:
    """Where the share's node had its own view of the disk, a path to the coordinator takes over."""
    served = lab.last_fact("served", name="scale-out")
    if served is None:
        raise RunFailed("cannot redirect the share of", lab.name, "it has no share", "strata lab up cluster-volume")
    node = lab.node(served["node"])
    if served["protocol"] == "smb":
        lab.stop(lab.process(f"smbd-{node.name}"))
        lab.stop(lab.process("direct-scale-out"))
        view = direct.files(lab, node, "redirected", remotes={served["file"]: served["over"]})
        smbd.start(lab, node, view, multichannel=False)
    else:
        lab.stop(lab.process("scale-out"))
        relay.start(lab, node, served["over"], name="scale-out", port=int(served["port"]))
    lab.shape(lab.node("n1"), 0, value * 1e6)


INJECTION = Injection(
    title="redirected path instead of the direct one",
    kind="server",
    layer="top",
    mechanism="the node of the share sends each I/O to the coordinator (n1), whose network card has this bandwidth",
    value=per_severity(40, 15, 5),
    unit="MB/s of the coordinator's card (healthy: not used)",
    inject=_inject,
    cell=ProofCell("scale-out share", "randread", "64k", 4),
    impact=per_severity(1.5, 3, 8),
    signals=(Signal("wire.n1.0.tx_bytes", How.RISES, 50),),
    must=(Cause.REDIRECTED,),
    partly=(Cause.WIRE_BANDWIDTH,),
    # The same card carries the shares: it is narrow for them, too.
    beside=tuple((name, Cause.WIRE_BANDWIDTH) for name in OVER_THE_CARD),
    never=(Cause.MEDIUM, Cause.WIRE_LATENCY),
    stack="cluster-volume",
    options={"medium": "fast", "landing": "direct"},
)
