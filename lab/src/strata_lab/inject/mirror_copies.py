"""The volume keeps more copies than it did: each write goes to more nodes, over the owner's one card."""

from __future__ import annotations

from pathlib import Path

from strata.errors import RunFailed
from strata.model.finding import Cause
from strata_lab import media
from strata_lab.lab import Lab
from strata_lab.servers import btrfs_pair
from strata_lab.truth import How, Injection, ProofCell, Signal, per_severity


def _inject(lab: Lab, value: float) -> None:
    """Nodes join with a disk each until there are so many copies; the volume is converted while it is mounted."""
    fact = lab.last_fact("mirror")
    if fact is None:
        raise RunFailed("cannot add copies to", lab.name, "it is not a btrfs mirror", "--set engine=btrfs")
    volume = btrfs_pair.BtrfsVolume(lab, lab.node("n1"), tuple(fact["devices"]), Path(fact["path"]), fact["profile"])
    nodes = [lab.add_node(f"c{number + 1}") for number in range(len(volume.devices), int(value))]
    volume.copied_to([(node, media.medium(lab, node.name, int(fact["size"])).device) for node in nodes])


INJECTION = Injection(
    title="more mirror copies",
    kind="server",
    layer="owner",
    mechanism="nodes join the mirror and the volume is converted to this many copies, all sent by the owner",
    value=per_severity(3, 3, 4),
    unit="copies (healthy: 2)",
    bounds=(3, 4),
    whole=True,
    inject=_inject,
    cell=ProofCell("owner", "randwrite", "64k", 4),
    impact=per_severity(1.5, 1.5, 2.2),
    signals=(Signal("wire.n1.0.tx_bytes", How.STAYS, 1.8),),
    must=(Cause.MIRROR_COPIES, Cause.WIRE_BANDWIDTH),
    also=("owner, mounted",),
    never=(Cause.MEDIUM, Cause.IOPS_CAP),
    stack="mirrored",
    options={"engine": "btrfs", "medium": "none", "rate": "16m"},
)
