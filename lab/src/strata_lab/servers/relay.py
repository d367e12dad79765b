"""A station on the way: an NBD server that hands each request on to another one, over connections of its own.

It is nbdkit with its nbd plugin. QEMU's daemon would do as well but for its socket: as a client, version 7.2 leaves
Nagle's algorithm on, and each request waits 40 ms for the other side's delayed acknowledgement.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from strata.errors import RunFailed
from strata_lab.lab import Lab
from strata_lab.nodes import LabNode
from strata_lab.servers import nbdkit
from strata_lab.servers.storage_daemon import Exports

THREADS = 16
"""Requests of one client that are on their way at once."""
_OWN_BYTES = 8 << 20
"""What nbdkit itself needs of its memory."""
RETRY_S = 10
"""How long it looks for the next station anew when the connection breaks."""


def start(
    lab: Lab, node: LabNode, uri: str, *, name: str, port: int, export: str = "volume", threads: int = THREADS
) -> Exports:
    """A relay on ``node`` to ``uri``, which it dials from there, for ``threads`` requests of each connection at once.

    Raises `RunFailed` with its words.
    """
    return _nbdkit(lab, node, name, port, export, threads, ["nbd", f"uri={uri}", f"retry={RETRY_S}"])


def cached(lab: Lab, node: LabNode, path: Path, *, name: str, port: int, export: str, cache_bytes: int) -> Exports:
    """A file served through the node's page cache, of which this server has ``cache_bytes`` (a control group's limit).

    The kernel keeps what was read and drops what was not used for long; nothing is read ahead.
    """
    group = _memory_group(lab, name, cache_bytes + _OWN_BYTES)
    words = ["file", str(path), "fadvise=random"]
    return _nbdkit(lab, node, name, port, export, THREADS, words, [group / "cgroup.procs"])


def _memory_group(lab: Lab, name: str, limit: int) -> Path:
    first = Path("/sys/fs/cgroup/memory")
    root, key = (first, "memory.limit_in_bytes") if first.is_dir() else (Path("/sys/fs/cgroup"), "memory.max")
    path = root / f"strata-{lab.name}-{name}"
    lab.undo("cgroup", path=str(path))
    try:
        path.mkdir()
        (path / key).write_text(str(limit))
    except OSError as e:
        raise RunFailed(
            "cannot limit the memory of",
            name,
            f"{path}: {e.strerror}",
            "check that the memory controller of cgroups is enabled",
        ) from e
    return path


def _nbdkit(
    lab: Lab,
    node: LabNode,
    name: str,
    port: int,
    export: str,
    threads: int,
    plugin: Sequence[str],
    cgroups: Sequence[Path] = (),
) -> Exports:
    pid = lab.dir("run") / f"{name}.pid"
    pid.unlink(missing_ok=True)
    words = [*nbdkit(), "--pidfile", str(pid), "-i", node.address, "-p", str(port)]
    words += ["-t", str(threads), f"--exportname={export}", *plugin]
    child = lab.run(node, words, name=name, wait_for=pid.exists, cgroups=cgroups)
    return Exports(node, child, {export: f"nbd://{node.address}:{port}/{export}"})
