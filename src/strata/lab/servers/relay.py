"""A station on the way: an NBD server that hands each request on to another one, over connections of its own.

It is nbdkit with its nbd plugin. QEMU's daemon would do as well but for its socket: before version 8.1 it leaves Nagle's
algorithm on, and each request waits 40 ms for the other side's delayed acknowledgement.
"""

from __future__ import annotations

from strata.lab.lab import Lab
from strata.lab.nodes import Node
from strata.lab.servers.storage_daemon import Exports

THREADS = 16
"""Requests of one client that are on their way at once."""
RETRY_S = 10
"""How long it looks for the next station anew when the connection breaks."""


def start(
    lab: Lab, node: Node, uri: str, *, name: str, port: int, export: str = "volume", threads: int = THREADS
) -> Exports:
    """A relay on ``node`` to ``uri``, which it dials from there. Raises `RunFailed` with its words."""
    pid = lab.dir("run") / f"{name}.pid"
    pid.unlink(missing_ok=True)
    words = ["nbdkit", "--foreground", "--pidfile", str(pid), "-i", node.address, "-p", str(port), "-t", str(threads)]
    words += [f"--exportname={export}", "nbd", f"uri={uri}", f"retry={RETRY_S}"]
    child = lab.run(node, words, name=name, wait_for=pid.exists)
    return Exports(node, child, {export: f"nbd://{node.address}:{port}/{export}"})
