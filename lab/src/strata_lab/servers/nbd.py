"""Three NBD servers with one face: nbdkit, qemu-nbd, and our own ``strata target``.

nbdkit's ``file`` plug-in reads through the page cache; qemu-nbd opens the file with O_DIRECT, so that the disk below is
what is measured; our own does as well, and is the only one that can be shaped without any right, and that tells the
time of each request.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from strata.errors import RunFailed, UsageError
from strata.host import programs
from strata.model.stack import SOCKET_MOST
from strata_lab.lab import Lab
from strata_lab.ledger import Line
from strata_lab.nodes import LabNode
from strata_lab.servers import LabServer, answers, free_port, nbdkit, program

KINDS = ("strata", "qemu-nbd", "nbdkit")
EXPORT, PORT = "disk", 10809
_CONNECTIONS = 16


def start(
    lab: Lab,
    node: LabNode,
    backing: Path | str,
    *,
    kind: str = "qemu-nbd",
    writable: bool = True,
    shape: Sequence[str] = (),
    port: int | None = None,
) -> LabServer:
    """Serves ``backing``; ``shape`` are further words for our own (``--latency 1ms``). `UsageError` for a kind."""
    if kind not in KINDS:
        raise UsageError("there is no NBD server", repr(kind), "", f"choose one of: {', '.join(KINDS)}")
    port = port or free_port(node, PORT)
    name = f"{kind}-{node.name}"
    stats = _stats(lab, name) if kind == "strata" else None
    if kind == "strata":
        words = programs.python("strata", "target", "--listen", f"{node.address}:{port}", "--export", EXPORT)
        words += ["--file", str(backing), *(["--writable"] if writable else []), *shape]
        words += [] if stats is None else ["--stats", stats]
    elif kind == "qemu-nbd":
        words = [program("qemu-nbd", "qemu-utils"), "-b", node.address, "-p", str(port), "-t", "-e", str(_CONNECTIONS)]
        words += ["-f", "raw", "-x", EXPORT, "--cache=none", *([] if writable else ["-r"]), str(backing)]
    else:
        words = [*nbdkit(), "-i", node.address, "-p", str(port), "-t", str(_CONNECTIONS)]
        words += ["-e", EXPORT, *([] if writable else ["-r"]), "file", str(backing)]
    child = lab.run(node, words, name=name, wait_for=answers(node, port))
    uri = f"nbd://{node.address}:{port}/{EXPORT}"
    lab.fact(
        "server", kind="nbd", node=node.name, process=name, uri=uri, port=port, backing=str(backing), shape=list(shape)
    )
    return LabServer(child, node, port, uri, stats)


def _stats(lab: Lab, name: str) -> str | None:
    """The socket of its statistics; None where the lab's directory is too deep for one."""
    path = str(lab.dir("run") / f"{name}.stats")
    return path if len(path.encode()) <= SOCKET_MOST else None


def reshape(lab: Lab, *words: str) -> None:
    """The wire of a reduced lab is what its own server pretends: started again at the same port with more limits.

    Where it does not start with them, it is started as it was, and the error is raised.
    """
    served = lab.last_fact("server", kind="nbd")
    if served is None or not served["process"].startswith("strata-"):
        raise RunFailed(
            "cannot limit the network of", lab.name, "its server is not Strata's own", "--set server=strata"
        )
    lab.stop(lab.process(served["process"]))
    try:
        _again(lab, served, words)
    except BaseException:
        for late in (p for p in lab.processes if p.name == served["process"]):
            lab.stop(late)
        _again(lab, served, ())
        raise


def _again(lab: Lab, served: Line, words: Sequence[str]) -> None:
    shape = [*served["shape"], *words]
    start(lab, lab.node(served["node"]), served["backing"], kind="strata", shape=shape, port=served["port"])
