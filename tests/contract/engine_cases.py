"""One job in every engine's hands: the engines under test, the places they are aimed at, and how a job is asked for."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from absent import absent
from cluster_peers import object_of
from commands import target, working_disk
from iscsi_peer import iscsi_server
from nbd_peers import listening
from nfs_peer import NfsServer, nfs_server
from samba import smbd

from strata.engine import Engine, Request, Timing, engine_of
from strata.engine.registry import ENGINES
from strata.model.endpoint import Endpoint
from strata.model.plan import Segment
from strata.model.result import EngineResult
from strata.plan.words import workload_from_words

KIB, MIB = 1 << 10, 1 << 20
SIZE = 8 * MIB
RUNTIME_S, INTERVAL_S = 0.2, 0.05


def engine(name: str) -> Engine:
    """The engine, or a skip where it is not installed; with STRATA_REQUIRE=all that is a failure."""
    if name == "fio" and shutil.which("fio") is None:
        absent("fio is not installed")
    return engine_of(name)


def names() -> list[str]:
    """Every registered engine."""
    return list(ENGINES)


@contextmanager
def data_file(size: int = SIZE) -> Iterator[Path]:
    """A file of random bytes on the working disk."""
    with working_disk() as disk:
        path = disk / "a:b c.dat"  # fio would take a name like this for two
        path.write_bytes(os.urandom(size))
        yield path


SEEN_FROM: dict[str, str] = {}
"""The network namespace in which a server of `place` is, by the URI of what it serves."""

OVER = ("nfs", "iscsi")
"""Places on servers that nobody here wrote, in namespaces of their own: they need root."""


CLUSTERS = ("gluster", "rbd")
"""Places in clusters that a lab makes: the whole cluster for each, and half a minute with it."""


@contextmanager
def served(kind: str) -> Iterator[str]:
    """The same of a real NFS server or iSCSI target."""
    if os.geteuid() != 0:
        absent("needs root (namespaces)")
    with working_disk() as disk, tempfile.TemporaryDirectory() as folder:
        data = disk / "served.dat"
        data.write_bytes(os.urandom(SIZE))
        server = nfs_server(Path(folder), disk) if kind == "nfs" else iscsi_server(Path(folder), data)
        with server as made:
            endpoint = made.endpoint(data.name) if isinstance(made, NfsServer) else made.endpoint()
            SEEN_FROM[endpoint.uri] = endpoint.netns or ""
            yield endpoint.uri


@contextmanager
def place(kind: str) -> Iterator[str]:
    """The URI of something of `SIZE` bytes that can be read and written."""
    if kind == "null":
        yield "null:"
    elif kind == "file":
        with data_file() as path:
            yield f"file:{path}"
    elif kind == "smb":
        with TemporaryDirectory(prefix="strata-smbd") as at, smbd(Path(at) / "s") as server:
            (server.share / "data").write_bytes(os.urandom(SIZE))
            yield server.uri("data")
    elif kind in OVER:
        with served(kind) as uri:
            yield uri
    elif kind in CLUSTERS:
        with object_of(kind, SIZE) as endpoint:
            SEEN_FROM[endpoint.uri] = endpoint.netns or ""
            yield endpoint.uri
    else:
        with target("--memory", SIZE, "--writable", "--listen", "127.0.0.1:0") as (uri, _):
            yield uri


def request(
    uri: str,
    rw: str = "randread",
    bs: str = "4k",
    *,
    segments: tuple[Segment, ...] = (Segment(start=0, length=SIZE, target=0),),
    ramp_s: float = 0.05,
    runtime_s: float = RUNTIME_S,
    **words: Any,
) -> Request:
    """What is asked."""
    endpoint = Endpoint.parse(uri)
    return Request(
        endpoint=endpoint.seen_from(SEEN_FROM[uri]) if uri in SEEN_FROM else endpoint,
        workload=workload_from_words(rw, bs, **words),
        segments=segments,
        timing=Timing(ramp_s=ramp_s, runtime_s=runtime_s, interval_s=INTERVAL_S),
    )


def errors_of(result: EngineResult) -> dict[str, int]:
    """Failed I/Os of both directions by name."""
    found: dict[str, int] = {}
    for line in (*result.read.errors, *result.write.errors):
        found[line.name] = found.get(line.name, 0) + line.count
    return found


@contextmanager
def failing_server(socket: Path, size: int, rate: str) -> Iterator[str]:
    """nbdkit on a unix socket, failing this share of the requests with EIO."""
    words = [
        "nbdkit",
        "--foreground",
        "--exit-with-parent",
        "--unix",
        str(socket),
        "--filter=error",
        "memory",
        str(size),
    ]
    server = subprocess.Popen([*words, f"error-rate={rate}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 30
        while not listening(socket):
            assert server.poll() is None and time.monotonic() < deadline
            time.sleep(0.01)
        yield f"nbd+unix:///?socket={socket}"
    finally:
        server.kill()  # nbdkit would wait for clients that are still there
        server.wait(timeout=30)
