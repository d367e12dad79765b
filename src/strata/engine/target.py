"""A remote end that is known to be good: an NBD server of our own, in a process of its own."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Literal

from strata import _core
from strata.engine.alone import target as program
from strata.engine.native import said
from strata.errors import RunFailed
from strata.host import programs
from strata.host.process import Child
from strata.model.base import Value
from strata.model.endpoint import address


class Backing(Value):
    """What the target serves. ``direct`` opens a file unbuffered, so that the page cache does not hide the disk."""

    kind: Literal["null", "memory", "file"]
    size_bytes: int | None = None
    path: str | None = None
    fd: int | None = None
    """A descriptor of the file that the server is handed: it opens beside that, and not by the name."""
    read_only: bool = True
    direct: bool = True


class Shaping(Value):
    """How good the remote end is. The wire (bandwidth per direction, latency per round trip) and the service.

    ``iops`` caps requests per second; ``service_threads`` serve at once, each for ``service_time_ns`` more than
    the real I/O takes.
    """

    bandwidth_bytes_per_s: int | None = None
    latency_ns: int = 0
    iops: float | None = None
    service_threads: int = 8
    service_time_ns: int = 0


class PlantedFault(Value):
    """Something the target does wrong on purpose, at the second write of a block.

    It strikes the block that holds byte ``offset``, or one block in ``every`` (block numbers that leave ``seed`` as
    the rest), or every block.
    """

    kind: Literal["lost", "torn", "stale", "misdirected", "corrupted", "short-error"]
    every: int | None = None
    offset: int | None = None
    seed: int = 0


class TargetConfig(Value):
    """One server: where it listens (TCP ``host:port``, in the network namespace at ``netns`` if one is given, or a unix
    socket path), what it serves and how well."""

    tcp: str | None = "127.0.0.1:0"
    unix: str | None = None
    netns: str | None = None
    export: str = ""
    backing: Backing
    shape: Shaping = Shaping()
    multi_conn: bool = True
    max_connections: int = 64
    faults: tuple[PlantedFault, ...] = ()
    own_user: bool = False
    """Serve processes of this user only. A port of the loopback is open to every user of the machine."""
    guarded_bytes: int = 0
    """So much at the start is never written to, whoever asks."""
    stats: str | None = None
    """A unix socket on which it tells what its side of each request took; ``@name`` is in no directory."""

    def to_core(self, ready_fd: int | None = None) -> str:
        """The compiled server's configuration JSON."""
        listen = {"unix": _absolute(self.unix)} if self.unix else {"tcp": self.tcp}
        return json.dumps(
            {
                "listen": listen,
                "netns": _absolute(self.netns),
                "export": self.export,
                "ready_fd": ready_fd,
                "backing": self.backing.model_copy(update={"path": _absolute(self.backing.path)}).model_dump(
                    exclude_none=True, exclude=self._irrelevant()
                ),
                "shape": self.shape.model_dump(),
                "multi_conn": self.multi_conn,
                "max_connections": self.max_connections,
                "own_user": self.own_user,
                "guarded_bytes": self.guarded_bytes,
                "stats": _absolute(self.stats),
                "faults": [fault.model_dump() for fault in self.faults],
            }
        )

    def _irrelevant(self) -> set[str]:
        return {
            "file": {"size_bytes"},
            "memory": {"path", "fd", "direct"},
            "null": {"path", "fd", "read_only", "direct"},
        }[self.backing.kind]


def _absolute(path: str | None) -> str | None:
    """The server may be a child, and a child is in ``/``. What begins with ``@`` is in no directory."""
    return path if path is None or path.startswith("@") else str(Path(path).absolute())


def serve(config: TargetConfig, ready_fd: int | None = None) -> None:
    """Serve until SIGTERM or SIGINT; blocks. Raises `RunFailed` when it cannot listen or open its backing."""
    try:
        _core.target_serve(config.to_core(ready_fd))
    except (OSError, ValueError) as e:
        raise refused(e, config.unix or config.tcp or "") from e


def refused(error: OSError | ValueError, where: str = "") -> RunFailed:
    """What the compiled server raised as it began."""
    return RunFailed(
        "cannot serve on", where, said(error), "check that the address is free and that what is served can be read"
    )


class TargetProcess:
    """A target as a child process, stopped and reaped when the block ends, and when this process dies."""

    def __init__(self, config: TargetConfig) -> None:
        self.config = config
        self.port: int | None = None

    def __enter__(self) -> TargetProcess:
        read_fd, write_fd = os.pipe()
        os.set_inheritable(write_fd, True)
        try:
            words = programs.python_file(Path(program.__file__), self.config.to_core(write_fd))
            served = self.config.backing.fd
            self._child = Child(words, pass_fds=(write_fd,) if served is None else (write_fd, served))
            self._child.start()
            os.close(write_fd)
            write_fd = -1
            try:
                line = self._child.read_ready_line(read_fd)
            except BaseException:
                self._child.stop()
                raise
        finally:
            os.close(read_fd)
            if write_fd >= 0:
                os.close(write_fd)
        if not line:
            self._child.stop()
            raise RunFailed("the target did not start", self.config.tcp or "", "it exited before it was ready")
        self.port = json.loads(line).get("port")
        return self

    def __exit__(self, *_: object) -> None:
        self._child.stop()

    @property
    def pid(self) -> int:
        """The server's process id."""
        return self._child.pid

    def uri(self, connections: int = 1) -> str:
        """Where clients reach it."""
        if self.config.unix:
            return f"nbd+unix:///{self.config.export}?socket={self.config.unix}&connections={connections}"
        host = (self.config.tcp or "").rpartition(":")[0]
        return f"nbd://{address(host, self.port or 0)}/{self.config.export}?connections={connections}"
