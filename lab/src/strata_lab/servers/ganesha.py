"""NFS-Ganesha: NFS v3 and v4 of one directory from user space, with an rpcbind of its own.

Both run in a mount namespace of their own, because rpcbind has its socket at a fixed path. The export is ``/volume``.
"""

from __future__ import annotations

import shlex
from pathlib import Path

from strata_lab.lab import Lab
from strata_lab.nodes import LabNode
from strata_lab.servers import LabServer, answers, program

EXPORT, PORT = "/volume", 2049
_READY = "NFS SERVER INITIALIZED"


def start(lab: Lab, node: LabNode, directory: Path) -> LabServer:
    """Serves ``directory`` as ``node:/volume`` to every node."""
    daemon, mapper = program("ganesha.nfsd", "nfs-ganesha nfs-ganesha-vfs"), program("rpcbind", "rpcbind")
    home = lab.dir(f"ganesha-{node.name}")
    rpc, state = home / "rpcbind", home / "state"
    for path in (rpc, state, home / "run"):
        path.mkdir(exist_ok=True)
    conf, log = home / "ganesha.conf", home / "ganesha.log"
    conf.write_text(_conf(node, directory))
    # A name of the machine's that both want to write to is replaced in their own mount namespace only.
    script = " && ".join(
        [
            f"mount --bind {shlex.quote(str(rpc))} /run/rpcbind",
            f"mount --bind {shlex.quote(str(state))} /var/lib/nfs",
            f"{{ {mapper} -f -w -h {node.address} & }}",
            f"exec {daemon} -F -f {shlex.quote(str(conf))} -L {shlex.quote(str(log))} -p {home}/run/pid -N NIV_EVENT",
        ]
    )
    listens = answers(node, PORT)
    child = lab.run(
        node,
        ["unshare", "--mount", "--propagation", "private", "sh", "-c", script],
        name=f"ganesha-{node.name}",
        # It listens before its exports are there.
        wait_for=lambda: log.is_file() and _READY in log.read_text(errors="replace") and listens(),
    )
    uri = f"nfs://{node.address}{EXPORT}"
    lab.fact("server", kind="nfs", node=node.name, process=child.name, conf=str(conf), uri=uri)
    return LabServer(child, node, PORT, uri)


def _conf(node: LabNode, directory: Path) -> str:
    return f"""NFS_CORE_PARAM {{
  Protocols = 3, 4;
  Bind_addr = {node.address};
  NFS_Port = {PORT};
  Mount_Path_Pseudo = true;
  Enable_NLM = false;
  Enable_RQUOTA = false;
}}
NFSv4 {{ Graceless = true; }}
EXPORT {{
  Export_Id = 1;
  Path = {directory};
  Pseudo = {EXPORT};
  Access_Type = RW;
  Squash = No_Root_Squash;
  SecType = sys;
  FSAL {{ Name = VFS; }}
}}
LOG {{ Default_Log_Level = EVENT; }}
"""
