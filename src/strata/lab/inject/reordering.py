"""Several dispatchers hand on what one stream brings: sequential writes reach the disk out of order.

Nothing is delayed on purpose and no model is changed. The disk is a rotating one; a block that comes behind its successor
waits for the platter to come round. Reads that come a little out of order are answered from what the disk read ahead, and
random I/O has no order to lose: sequential writes alone fall, which is the fingerprint of the cause.
"""

from __future__ import annotations

import sys

from strata.errors import RunFailed
from strata.lab.lab import Lab
from strata.lab.servers import answers
from strata.lab.truth import Cell, How, Injection, Signal, per_severity
from strata.model.finding import Cause

_EXPORT = "volume"


def _inject(lab: Lab, value: float) -> None:
    """The file server of the coordinator gives way to one with so many threads that write, on the same port."""
    served = lab.last_fact("served", name="share")
    if served is None:
        raise RunFailed("cannot inject dispatchers into", lab.name, "it has no share of a file", "up cluster-volume")
    node = lab.node(served["node"])
    lab.stop(lab.process("share"))
    words = [sys.executable, "-m", "strata", "target", "--listen", f"{node.address}:{served['port']}"]
    words += ["--export", _EXPORT, "--file", served["file"], "--writable", "--service-threads", f"{value:.0f}"]
    lab.run(node, words, name="dispatchers", wait_for=answers(node, int(served["port"])))


INJECTION = Injection(
    title="sequential writes reordered by several dispatchers",
    kind="server",
    layer="share, other node",
    mechanism="the share is served by so many threads, each of which writes what it took whenever it is its turn",
    value=per_severity(2, 8, 16),
    unit="threads that dispatch (healthy: 1)",
    inject=_inject,
    cell=Cell("share, other node", "write", "8k", 8),
    impact=per_severity(1.3, 2, 2),
    signals=(Signal("disk.late_turns_share", How.RISES, 2), Signal("disk.sequential_share", How.FALLS, 1.1)),
    never=(Cause.WIRE_BANDWIDTH, Cause.WIRE_LATENCY, Cause.REMOTE_CAP),
    stack="cluster-volume",
    options={"medium": "hdd"},
)
