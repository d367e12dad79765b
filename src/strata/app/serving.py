"""A remote end of our own, in this process."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from pathlib import Path

from strata.engine import Backing, Shape, TargetConfig, serve, serve_config
from strata.host import safety

__all__ = ["serve_and_say", "serve_config", "target_config"]


def target_config(
    *,
    file: Path | None,
    memory: int | None,
    null: int | None,
    listen: str,
    socket: Path | None,
    export: str,
    writable: bool,
    direct: bool,
    bandwidth: int | None,
    latency_ns: int,
    iops: float | None,
    service_threads: int,
    service_time_ns: int,
) -> TargetConfig:
    """Raises `SafetyRefusal` when a file that Strata did not create should be writable."""
    if file is not None:
        if writable:
            safety.check_own_file(file)
        backing = Backing(kind="file", path=str(file.resolve()), read_only=not writable, direct=direct)
    elif memory is not None:
        backing = Backing(kind="memory", size_bytes=memory)
    else:
        backing = Backing(kind="null", size_bytes=null)
    shape = Shape(
        bandwidth_bytes_per_s=bandwidth,
        latency_ns=latency_ns,
        iops=iops,
        service_threads=service_threads,
        service_time_ns=service_time_ns,
    )
    tcp = None if socket else listen
    return TargetConfig(tcp=tcp, unix=str(socket) if socket else None, export=export, backing=backing, shape=shape)


def serve_and_say(config: TargetConfig, say: Callable[[str], None]) -> None:
    """Serve, and say where once the socket is open (the port may have been chosen by the kernel)."""
    read_fd, write_fd = os.pipe()

    def wait() -> None:
        with os.fdopen(read_fd) as ready:
            line = ready.readline()
        if line and config.unix:
            say(f"serving nbd+unix:///{config.export}?socket={config.unix}")
        elif line:
            host = (config.tcp or "").rpartition(":")[0]
            say(f"serving nbd://{host}:{json.loads(line)['port']}/{config.export}")

    waiter = threading.Thread(target=wait, daemon=True)
    waiter.start()
    serve(config, write_fd)
    waiter.join(1)
