"""A station on the way: an NBD server that hands each request on to another one, over connections of its own.

It is nbdkit with its nbd plugin. QEMU's daemon would do as well but for its socket: as a client, version 7.2 leaves
Nagle's algorithm on, and each request waits 40 ms for the other side's delayed acknowledgement.
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
    lab: Lab,
    node: Node,
    uri: str,
    *,
    name: str,
    port: int,
    export: str = "volume",
    threads: int = THREADS,
    cache_bytes: int | None = None,
) -> Exports:
    """A relay on ``node`` to ``uri``, which it dials from there, for ``threads`` requests of each connection at once.

    With ``cache_bytes`` it keeps so much of what was read, the least recently used going first, in pieces of 4 KiB.
    Raises `RunFailed` with its words.
    """
    pid = lab.dir("run") / f"{name}.pid"
    pid.unlink(missing_ok=True)
    # In the foreground nbdkit asks to end with its parent, which must not be the command that builds the lab.
    words = ["sh", "-c", '"$@"; exit $?', "sh"]
    words += ["nbdkit", "--foreground", "--pidfile", str(pid), "-i", node.address, "-p", str(port), "-t", str(threads)]
    env = {}
    if cache_bytes is not None:
        words.append("--filter=cache")
        env = {"TMPDIR": str(lab.dir(f"cache/{name}"))}
    words += [f"--exportname={export}", "nbd", f"uri={uri}", f"retry={RETRY_S}"]
    if cache_bytes is not None:
        words += [
            "cache=writethrough",
            "cache-on-read=true",
            "cache-min-block-size=4K",
            f"cache-max-size={cache_bytes}",
        ]
    child = lab.run(node, words, name=name, wait_for=pid.exists, env=env)
    return Exports(node, child, {export: f"nbd://{node.address}:{port}/{export}"})
