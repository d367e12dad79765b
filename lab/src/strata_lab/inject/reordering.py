"""Several dispatchers hand on what one stream brings: sequential writes reach the disk out of order.

Nothing is delayed on purpose and no model is changed: the client deals its requests out over several connections in
turn, and the server takes them up in whatever order they come. The disk is a rotating one; a block that comes behind
its successor waits for the platter to come round. Random I/O has no order to lose and most reads are answered from what
the disk read ahead, so that sequential writes fall most: the fingerprint of the cause.
"""

from __future__ import annotations

from pathlib import Path

from strata.errors import RunFailed
from strata.model.finding import Cause
from strata_lab.lab import Lab
from strata_lab.truth import How, Injection, ProofCell, Signal, per_severity

LAYER = "share, other node"


def _inject(lab: Lab, value: float) -> None:
    fact = lab.last_fact("stack")
    tables = Path(fact["path"]).read_text().split("[[layer]]") if fact else []
    found = [i for i, table in enumerate(tables) if f'name = "{LAYER}"' in table]
    if fact is None or not found:
        raise RunFailed(
            "cannot reorder the writes of", lab.name, "it has no file share", "strata lab up cluster-volume"
        )
    uri = next(line for line in tables[found[0]].splitlines() if line.startswith("endpoint"))
    tables[found[0]] = tables[found[0]].replace(uri, f'{uri.rstrip().rstrip(chr(34))}?connections={value:.0f}"')
    Path(fact["path"]).write_text("[[layer]]".join(tables))


INJECTION = Injection(
    title="sequential writes reordered by several dispatchers",
    kind="server",
    layer=LAYER,
    mechanism="the client distributes one stream over this many connections, which the server processes in any order",
    value=per_severity(2, 4, 8),
    unit="connections (healthy: 1)",
    bounds=(2, 16),
    whole=True,
    inject=_inject,
    cell=ProofCell(LAYER, "write", "8k", 32),
    impact=per_severity(1.3, 2, 2),
    signals=(Signal("disk.sequential_share", How.FALLS, 1.1),),
    must=(Cause.REORDERING,),
    never=(Cause.WIRE_BANDWIDTH, Cause.WIRE_LATENCY, Cause.IOPS_CAP),
    stack="cluster-volume",
    # Over SMB several connections cost sequential writes too, but less and less surely: 1.4 to 3 times.
    options={"medium": "hdd", "protocol": "nbd"},
)
