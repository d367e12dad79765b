"""An iSCSI target that nobody here wrote (tgt), in a network namespace of its own."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from loops import ENV, need
from namespaces import inside, one_node

from strata.model.endpoint import Endpoint

NAME = "iqn.2026-11.invalid.strata:test"


@dataclass(frozen=True)
class IscsiServer:
    """Where it is."""

    netns: str
    host: str = "127.0.0.1"

    def uri(self, lun: int = 1, query: str = "") -> str:
        """The address of a unit."""
        return f"iscsi://{self.host}/{NAME}/{lun}{query}"

    def endpoint(self, lun: int = 1, query: str = "") -> Endpoint:
        """The same, dialled from where the server is."""
        return Endpoint.parse(self.uri(lun, query)).seen_from(self.netns)


@contextmanager
def iscsi_server(folder: Path, backing: Path) -> Iterator[IscsiServer]:
    """One target with ``backing`` as unit 1; ``folder`` holds its control socket."""
    tgtd, tgtadm = need("tgtd"), need("tgtadm")
    env = {**ENV, "TGT_IPC_SOCKET": str(folder / "ipc")}
    number = str(os.getpid() % 30_000)
    control = [tgtadm, "-C", number, "--lld", "iscsi"]

    def tell(*words: str) -> bool:
        done = subprocess.run([*control, *words], env=env, capture_output=True, text=True, timeout=30, check=False)
        return done.returncode == 0

    with one_node() as netns:
        # With -f it stays in the foreground, and is ours to end.
        words = [*inside(netns), tgtd, "-f", "-C", number, "--iscsi", "portal=127.0.0.1:3260", "-t", "2"]
        server = subprocess.Popen(words, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            deadline = time.monotonic() + 30
            new = ["--op", "new", "--mode", "target", "--tid", "1", "-T", NAME]
            while not tell(*new):
                assert server.poll() is None and time.monotonic() < deadline
                time.sleep(0.05)
            unit = ["--op", "new", "--mode", "logicalunit", "--tid", "1", "--lun", "1", "-b", str(backing)]
            assert tell(*unit)
            assert tell("--op", "bind", "--mode", "target", "--tid", "1", "-I", "ALL")
            yield IscsiServer(netns)
        finally:
            server.kill()
            server.wait(timeout=30)
