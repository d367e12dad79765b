"""tgt's tgtd: one iSCSI target with one logical unit on a device or file. Its figures: ``tgtadm --op stat``."""

from __future__ import annotations

import time
from pathlib import Path

from strata.errors import RunFailed
from strata_lab import disks
from strata_lab.lab import Lab
from strata_lab.nodes import LabNode
from strata_lab.servers import LabServer, answers, program

PORT, LUN = 3260, 1
_CONTROL_PORT = 5
# Else the server's page cache would be what is measured.
_UNBUFFERED = ("--bstype", "rdwr", "--bsoflags", "direct")


def start(lab: Lab, node: LabNode, backing: Path | str, *, threads: int = 4) -> LabServer:
    """Serves ``backing`` as logical unit 1 of ``iqn.2026-01.strata:LAB-NODE``."""
    daemon, admin = program("tgtd", "tgt"), program("tgtadm", "tgt")
    home = lab.dir(f"tgtd-{node.name}")
    iqn = f"iqn.2026-01.strata:{lab.name}-{node.name}"
    control = {"TGT_IPC_SOCKET": str(home / "ipc")}
    child = lab.run(
        node,
        [daemon, "-f", "-C", str(_CONTROL_PORT), "-t", str(threads), "--iscsi", f"portal={node.address}:{PORT}"],
        name=f"tgtd-{node.name}",
        wait_for=answers(node, PORT),
        env=control,
    )
    for words in (
        ["--op", "new", "--mode", "target", "--tid", "1", "-T", iqn],
        ["--op", "new", "--mode", "logicalunit", "--tid", "1", "--lun", str(LUN), "-b", str(backing), *_UNBUFFERED],
        ["--op", "bind", "--mode", "target", "--tid", "1", "-I", "ALL"],
    ):
        _admin([admin, "-C", str(_CONTROL_PORT), "--lld", "iscsi", *words], control)
    uri = f"iscsi://{node.address}:{PORT}/{iqn}/{LUN}"
    lab.fact("server", kind="iscsi", node=node.name, process=child.name, ipc=control["TGT_IPC_SOCKET"], uri=uri)
    return LabServer(child, node, PORT, uri)


def _admin(words: list[str], env: dict[str, str]) -> None:
    """tgtd accepts connections a moment before its control socket answers."""
    deadline = time.monotonic() + 5.0
    while True:
        try:
            disks.tool(words, "set up the iSCSI target with", env=env)
            return
        except RunFailed:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
