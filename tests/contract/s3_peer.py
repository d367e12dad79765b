"""An S3 server that nobody here wrote (s3s-fs), over a folder of this machine."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from absent import absent
from commands import ROOT

from strata.host.process import dies_with_us
from strata.model.endpoint import Endpoint

PEERS = ROOT / ".peers" / "bin"
"""Where `scripts/house.py` puts what no distribution has."""
KEY, SECRET = "strata-test", "a-secret-of-the-test"
LOGIN = {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET}
BUCKET = "bucket"


@dataclass(frozen=True)
class S3Server:
    """Where it is. ``data`` is the folder of its bucket, in which each object is a file of its key."""

    port: int
    data: Path
    process: subprocess.Popen[bytes]

    def uri(self, key: str, query: str = "") -> str:
        """The address of an object."""
        return f"s3://127.0.0.1:{self.port}/{BUCKET}/{key}{query}"

    def endpoint(self, key: str, query: str = "") -> Endpoint:
        """The same, read."""
        return Endpoint.parse(self.uri(key, query))


@contextmanager
def s3_server(folder: Path) -> Iterator[S3Server]:
    """One that keeps its objects in ``folder``, and knows `LOGIN` alone."""
    program = shutil.which("s3s-fs", path=f"{PEERS}:{os.environ.get('PATH', '')}")
    if program is None:
        absent("s3s-fs is not installed")
    data = folder / BUCKET
    data.mkdir()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [program, "--host", "127.0.0.1", "--port", str(port), "--access-key", KEY, "--secret-key", SECRET, folder]
    server = subprocess.Popen(
        words,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=dies_with_us(),  # noqa: PLW1509  (one system call)
    )
    try:
        deadline = time.monotonic() + 30
        while socket.socket().connect_ex(("127.0.0.1", port)):
            assert server.poll() is None and time.monotonic() < deadline
            time.sleep(0.05)
        yield S3Server(port, data, server)
    finally:
        server.kill()
        server.wait(timeout=30)
