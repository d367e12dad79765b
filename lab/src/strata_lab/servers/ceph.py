"""Ceph: a pool whose objects have one owner, the primary, which sends every write on to the other copies.

Monitor and manager run on the first node, one OSD on each. The OSD of the first node is primary of everything: a client
there is on the owner, one elsewhere is not, also where a copy lies beside it. Reads come from the primary alone.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from strata.errors import RunFailed
from strata.host import process, programs
from strata_lab.lab import Lab
from strata_lab.nodes import LabNode
from strata_lab.servers import program

POOL = "strata"
OSD_BYTES = 8 << 30
"""A sparse file. With 2 GiB BlueFS ran out of space after four minutes of small writes and the OSDs aborted."""
_MEMORY_BYTES = 939_524_096
_PLACEMENT_GROUPS = 8
_CLI_S = 30.0

_CONF = """[global]
fsid = {fsid}
mon initial members = a
mon host = [v2:{mon}:3300/0]
auth cluster required = none
auth service required = none
auth client required = none
ms bind ipv6 = false
osd pool default size = {copies}
osd pool default min size = 1
run dir = {dir}/run
log file = {dir}/log/$name.log
admin socket = {dir}/run/$name.asok
pid file =
mon data = {dir}/mon
mgr data = {dir}/mgr
osd data = {dir}/osd$id
mon data avail warn = 2
mon data avail crit = 1
mon cluster log file = {dir}/log/cluster.log
osd objectstore = bluestore
bluestore block size = {osd_bytes}
osd memory target = {memory}
osd crush update on start = false
"""


@dataclass(frozen=True)
class Ceph:
    """A running cluster; ``conf`` is its configuration, ``nodes`` hold the OSDs in the order of their numbers."""

    lab: Lab
    conf: Path
    nodes: tuple[LabNode, ...]

    @property
    def copies(self) -> int:
        """How many OSDs hold each byte."""
        return len(self.nodes)

    def cli(self, *words: str, program: str = "ceph") -> str:
        """The ``ceph`` (or ``rbd``) command from the first node; what it printed. Raises `RunFailed`."""
        return _cli(self.nodes[0], self.conf, words, program)

    def image(self, name: str, size: int) -> str:
        """A block image of ``size`` bytes in the pool; its name for a client, ``strata/NAME``."""
        self.cli("create", f"{POOL}/{name}", "--size", f"{size}B", program="rbd")
        return f"{POOL}/{name}"


def start(lab: Lab, nodes: Sequence[LabNode], *, timeout_s: float = 120.0) -> Ceph:
    """A cluster with as many copies as ``nodes``, all of them active and clean, the first node's the primary.

    Raises `RunFailed` naming the daemon that did not come up, or what the cluster says when its data is not clean.
    """
    for name in ("ceph-mon", "ceph-mgr", "ceph-osd", "ceph", "rbd"):
        program(name, "ceph-common" if name in ("ceph", "rbd") else name)
    own = lab.dir("ceph")
    for part in ("run", "log", "mon", "mgr", *(f"osd{i}" for i in range(len(nodes)))):
        lab.dir(f"ceph/{part}")
    conf, fsid, first = own / "ceph.conf", str(uuid.uuid4()), nodes[0]
    conf.write_text(
        _CONF.format(
            fsid=fsid,
            mon=first.address,
            copies=len(nodes),
            dir=own,
            osd_bytes=OSD_BYTES,
            memory=_MEMORY_BYTES,
        )
    )
    deadline = time.monotonic() + timeout_s
    monmap = own / "monmap"
    _run(first, ["monmaptool", "--create", "--fsid", fsid, "--addv", "a", f"[v2:{first.address}:3300]", str(monmap)])
    _run(first, ["ceph-mon", "-c", str(conf), "--mkfs", "-i", "a", "--monmap", str(monmap), *_AS_ROOT])
    _daemon(lab, first, "mon", ["ceph-mon", "-i", "a", "--public-addr", first.address], conf)
    _waited(lambda: bool(_cli(first, conf, ["mon", "stat"])), "its monitor", deadline)
    _daemon(lab, first, "mgr", ["ceph-mgr", "-i", "x"], conf)
    _osds(lab, nodes, conf)
    cluster = Ceph(lab, conf, tuple(nodes))
    for number, node in enumerate(nodes):
        cluster.cli("osd", "crush", "add", f"osd.{number}", "1.0", "root=default", f"host={node.name}")
        if number:
            cluster.cli("osd", "primary-affinity", f"osd.{number}", "0")
    _waited(
        lambda: cluster.cli("osd", "stat", "-f", "json").count(f'"num_up_osds":{len(nodes)}') == 1, "OSDs", deadline
    )
    groups = str(_PLACEMENT_GROUPS)
    cluster.cli("osd", "pool", "create", POOL, groups, groups)
    cluster.cli("osd", "pool", "application", "enable", POOL, "rbd")
    _waited(lambda: _clean(cluster), "its placement groups", deadline)
    return cluster


_AS_ROOT = ("--setuser", "root", "--setgroup", "root")


def _osds(lab: Lab, nodes: Sequence[LabNode], conf: Path) -> None:
    made = []
    for number, node in enumerate(nodes):
        ident = str(uuid.uuid4())
        _cli(nodes[0], conf, ["osd", "new", ident, str(number)])
        argv = ["ceph-osd", "-c", str(conf), "-i", str(number), "--mkfs", "--osd-uuid", ident, *_AS_ROOT]
        # One after the other they would take six seconds each.
        made.append(lab.run(node, argv, name=f"ceph-mkfs-{number}"))
    for number, (node, child) in enumerate(zip(nodes, made, strict=True)):
        _waited(lambda child=child: not child.alive, child.name, time.monotonic() + _CLI_S)  # type: ignore[misc]
        if not (conf.parent / f"osd{number}" / "ready").exists():
            raise RunFailed("cannot create the store of", f"osd.{number}", child.last_words()[-200:])
        lab.stop(child)
        argv = ["ceph-osd", "-i", str(number), "--public-addr", node.address, "--cluster-addr", node.address]
        _daemon(lab, node, f"osd{number}", argv, conf)


def _clean(cluster: Ceph) -> bool:
    groups = json.loads(cluster.cli("pg", "ls-by-pool", POOL, "-f", "json"))["pg_stats"]
    whole = [g for g in groups if g["state"] == "active+clean" and g["acting_primary"] == 0]
    return len(whole) == _PLACEMENT_GROUPS == len(groups)


def _daemon(lab: Lab, node: LabNode, name: str, argv: Sequence[str], conf: Path) -> None:
    lab.run(node, [argv[0], "-f", "-c", str(conf), *argv[1:], *_AS_ROOT], name=f"ceph-{name}")


def _run(node: LabNode, argv: Sequence[str]) -> str:
    try:
        done = process.run(programs.in_netns(node.netns, argv), _CLI_S)
    except TimeoutError as e:
        raise RunFailed(f"{argv[0]} did not answer to", " ".join(argv[1:]), f"within {_CLI_S:g} s") from e
    if done.code:
        raise RunFailed(f"{argv[0]} failed:", " ".join(argv[1:]), done.err.strip() or f"exit {done.code}")
    return done.out


def _cli(node: LabNode, conf: Path, words: Sequence[str], program: str = "ceph") -> str:
    return _run(node, [program, "-c", str(conf), *words])


def _waited(ready: Callable[[], bool], what: str, deadline: float) -> None:
    while not ready():
        if time.monotonic() > deadline:
            raise RunFailed(
                "the Ceph cluster is not ready:", what, "it took too long", "its logs are in the lab's directory"
            )
        time.sleep(0.2)
