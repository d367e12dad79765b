"""An NFS server that nobody here wrote (nfs-ganesha), in a network namespace of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from loops import ENV, need
from namespaces import inside, one_node

from strata.host.process import dies_with_us
from strata.model.endpoint import Endpoint

CONFIG = """
NFS_Core_Param {{ Protocols = 3; Enable_UDP = false; MNT_Port = 20048; NFS_Port = 2049; Enable_NLM = false;
    Enable_RQUOTA = false; }}
NFSv4 {{ Graceless = true; RecoveryRoot = "{folder}"; }}
EXPORT {{
    Export_Id = 1; Path = "{data}"; Pseudo = "/share"; Protocols = 3; Access_Type = RW; Squash = No_Root_Squash;
    SecType = sys; PrivilegedPort = true; Attr_Expiration_Time = 0; FSAL {{ Name = VFS; }}
}}
LOG {{ Default_Log_Level = WARN; }}
"""


@dataclass(frozen=True)
class NfsServer:
    """Where it is. ``data`` is the exported directory on this machine."""

    netns: str
    data: Path
    folder: Path

    def uri(self, name: str, query: str = "") -> str:
        """The address of a file of the export."""
        return f"nfs://127.0.0.1{self.data}/{name}{query}"

    def endpoint(self, name: str, query: str = "") -> Endpoint:
        """The same, dialled from where the server is."""
        return Endpoint.parse(self.uri(name, query)).seen_from(self.netns)


@contextmanager
def nfs_server(folder: Path, data: Path) -> Iterator[NfsServer]:
    """Portmapper and server over ``data``; ``folder`` holds what they keep."""
    ganesha, rpcbind, rpcinfo = need("ganesha.nfsd"), need("rpcbind"), need("rpcinfo")
    for name in ("rpc/rpcbind", "run"):
        (folder / name).mkdir(parents=True)
    (folder / "ganesha.conf").write_text(CONFIG.format(folder=folder / "run", data=data))
    script = (
        # A /run of its own: the portmapper holds a lock there that is one for the whole machine.
        f"mount --make-rprivate / && mount --bind {folder}/rpc /run; {rpcbind} -f &"
        # Registering where nobody listens yet ends the server.
        f" until {rpcinfo} -T tcp 127.0.0.1 100000 4 >&- 2>&-; do sleep 0.05; done;"
        f" exec {ganesha} -F -f {folder}/ganesha.conf -L {folder}/log -p {folder}/pid -N NIV_EVENT"
    )
    with one_node() as netns:
        # Both end with whoever runs the tests, however that ends: a portmapper left behind keeps the next one out.
        words = [*inside(netns), need("unshare"), "-m", "-p", "-f", "--kill-child", "--mount-proc", "sh", "-c", script]
        server = subprocess.Popen(
            words,
            env=ENV,
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            preexec_fn=dies_with_us(),  # noqa: PLW1509  (one system call)
        )
        try:
            _await(server, netns, folder)
            yield NfsServer(netns, data, folder)
        finally:
            os.killpg(server.pid, signal.SIGKILL)
            server.wait(timeout=30)


def _await(server: subprocess.Popen[bytes], netns: str, folder: Path) -> None:
    deadline = time.monotonic() + 30
    ask = [*inside(netns), need("rpcinfo"), "-T", "tcp", "127.0.0.1", "100005", "3"]
    while subprocess.run(ask, env=ENV, capture_output=True, check=False).returncode:
        log = folder / "log"
        assert server.poll() is None and time.monotonic() < deadline, log.read_text() if log.exists() else "no log"
        time.sleep(0.05)
