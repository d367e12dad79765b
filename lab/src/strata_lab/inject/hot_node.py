"""The data of a striped store lies on one of its nodes: the others have nothing to do."""

from __future__ import annotations

from strata.errors import RunFailed
from strata.model.finding import Cause
from strata_lab import disks
from strata_lab.lab import Lab
from strata_lab.truth import How, Injection, ProofCell, Signal, per_severity


def _inject(lab: Lab, value: float) -> None:
    """Converts the stripe to plain pieces, of which one holds the virtual disks; or takes nodes out of the stripe."""
    fact = lab.last_fact("store")
    if fact is None:
        raise RunFailed("cannot unbalance", lab.name, "it has no striped store", "strata lab up vm-disks")
    if value == 1:
        disks.tool(["btrfs", "balance", "start", "-dconvert=single", "-f", fact["path"]], "gather the data of")
        return
    for device in fact["devices"][int(value) :]:
        disks.tool(["btrfs", "device", "remove", device, fact["path"]], "take a node out of")


INJECTION = Injection(
    title="hot node",
    kind="data",
    layer="store",
    mechanism="the data, striped over three nodes, is moved to fewer of them while the store is mounted",
    value=per_severity(2, 1, 1),
    unit="nodes that hold data (healthy: 3)",
    bounds=(1, 2),
    whole=True,
    inject=_inject,
    cell=ProofCell("store", "randread", "8k", 16),
    impact=per_severity(1.2, 2, 2),
    signals=(Signal("disks.busiest_ratio", How.RISES, 1.3),),
    must=(Cause.FEW_NODES,),
    never=(Cause.WIRE_BANDWIDTH, Cause.WIRE_LATENCY),
    # One server of 2.5 ms in each node.
    ceiling=lambda nodes: nodes * 400,
    stack="vm-disks",
    options={"nodes": "3", "medium": "slow", "disks": "1"},
)
