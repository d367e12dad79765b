"""GlusterFS: a volume of which every brick, each on a node of its own, holds a full copy.

Copies are made by the client: it sends each write to every brick. Reads come from the first brick alone, the owner's.
All daemons of a node share a mount namespace in which the paths that glusterd has compiled in are the lab's own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from strata.errors import RunFailed
from strata.host import process
from strata_lab.lab import Lab
from strata_lab.nodes import LabNode
from strata_lab.proc import LabProcess
from strata_lab.servers import program
from strata_lab.undo import mounted

VOLUME = "v0"
_CLI_S = 60.0
_PEERS_S = 20.0

# Whatever answers a read or a write without a brick would hide the path: client caches and write-behind are off,
# O_DIRECT goes through to the bricks' disks.
_OPTIONS = {
    "performance.write-behind": "off",
    "performance.read-ahead": "off",
    "performance.quick-read": "off",
    "performance.io-cache": "off",
    "performance.open-behind": "off",
    "performance.strict-o-direct": "on",
    "network.remote-dio": "disable",
    # Else every brick may pass for local, as all nodes share the machine's host name, and the last to answer is read.
    "cluster.choose-local": "off",
    "cluster.read-subvolume": f"{VOLUME}-client-0",
    "cluster.self-heal-daemon": "off",
}

# Their own paths stand in for the machine's: /run last, because the namespaces' names are below it.
_START = """set -e
mount --make-rprivate /
mount --bind {dir}/lib /var/lib/glusterd
mount --bind {dir}/log /var/log/glusterfs
mount --bind {dir}/run /run
exec glusterd -N
"""


@dataclass(frozen=True)
class GlusterVolume:
    """A running volume. ``daemons``: glusterd of each node, in the order of ``bricks``."""

    lab: Lab
    nodes: tuple[LabNode, ...]
    daemons: tuple[LabProcess, ...]

    @property
    def copies(self) -> int:
        """How many bricks hold each byte."""
        return len(self.nodes)

    def cli(self, *words: str) -> str:
        """The gluster command on the first node; what it printed. Raises `RunFailed` with its words."""
        return _cli(self.daemons[0], words)

    def mount(self, node: LabNode, name: str) -> Path:
        """The volume mounted by a client on that node (which need not hold a brick); the directory.

        A client's caches of the kernel are out of the way for files opened with O_DIRECT alone.
        """
        path = self.lab.dir(f"mounts/{name}")
        words = ["glusterfs", "--no-daemon", f"--volfile-server={self.nodes[0].address}", f"--volfile-id={VOLUME}"]
        words += [f"--log-file={self.lab.dir('logs')}/gluster-{name}.log", "--log-level=WARNING", str(path)]
        self.lab.undo("mount", path=str(path))
        self.lab.run(node, words, name=f"gluster-{name}", wait_for=lambda: mounted(str(path)))
        return path


def start(lab: Lab, bricks: Sequence[tuple[LabNode, Path]], *, timeout_s: float = 30.0) -> GlusterVolume:
    """A replicated volume over ``bricks``: (node, directory on that node's disk), two or more.

    Raises `RunFailed` with the daemon's words when the nodes do not find each other or the volume does not start.
    """
    if len(bricks) < 2:
        raise RunFailed("cannot create a replicated volume of", f"{len(bricks)} brick", "a copy needs a second brick")
    nodes = tuple(node for node, _ in bricks)
    daemons = tuple(_daemon(lab, node) for node in nodes)
    first = daemons[0]
    for node, daemon in zip(nodes, daemons, strict=True):
        _retried(daemon, ["peer", "status"], lambda _: True, timeout_s)
        if node is not nodes[0]:
            _retried(first, ["peer", "probe", node.address], lambda said: "success" in said, timeout_s)
    # A peer is found before it is admitted, and a volume is refused in between.
    for daemon in daemons:
        _retried(daemon, ["peer", "status"], lambda said: said.count("Peer in Cluster") == len(nodes) - 1, _PEERS_S)
    places = [f"{node.address}:{path}" for node, path in bricks]
    _cli(first, ["volume", "create", VOLUME, "replica", str(len(bricks)), *places, "force"])
    _cli(first, ["volume", "set", VOLUME, *(word for pair in _OPTIONS.items() for word in pair)])
    _cli(first, ["volume", "start", VOLUME])
    return GlusterVolume(lab, nodes, daemons)


def _daemon(lab: Lab, node: LabNode) -> LabProcess:
    program("glusterd", "glusterfs-server")
    own = lab.dir(f"gluster/{node.name}")
    for part in ("lib", "run", "log"):
        lab.dir(f"gluster/{node.name}/{part}")
    script = own / "start.sh"
    script.write_text(_START.format(dir=own))
    # The mounts live in the daemon's own mount namespace and go with its last process: nothing to undo.
    return lab.run(node, ["unshare", "--mount", "--", "bash", str(script)], name=f"glusterd-{node.name}")


def _cli(daemon: LabProcess, words: Sequence[str]) -> str:
    argv = ["nsenter", "-t", str(daemon.pid), "-m", "-n", "--", "gluster", "--mode=script", *words]
    try:
        done = process.run(argv, _CLI_S)
    except TimeoutError as e:
        raise RunFailed("gluster did not answer to", " ".join(words), f"within {_CLI_S:g} s") from e
    if done.code:
        said = (done.err + done.out).strip()
        raise RunFailed("gluster failed:", " ".join(words), said or f"exit {done.code}")
    return done.out


def _retried(daemon: LabProcess, words: Sequence[str], ready: Callable[[str], bool], timeout_s: float) -> None:
    deadline, why = time.monotonic() + timeout_s, ""
    while time.monotonic() < deadline:
        if not daemon.alive:
            raise RunFailed(f"{daemon.name} of the lab", "", "exited before it was ready", f"its log: {daemon.log}")
        try:
            if ready(why := _cli(daemon, words)):
                return
        except RunFailed as e:
            why = e.why
        time.sleep(0.1)
    raise RunFailed("gluster is not ready:", " ".join(words), why.strip() or f"no answer within {timeout_s:g} s")
