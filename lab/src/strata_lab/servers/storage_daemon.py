"""QEMU's storage daemon: block devices, files, NBD and RBD images in; NBD exports and files (through FUSE) out.

It opens what it serves with O_DIRECT, so that no page cache of its node stands between a client and the disk.
"""

from __future__ import annotations

import json
import socket
import stat
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from strata.errors import RunFailed
from strata.host import process
from strata_lab.lab import Lab
from strata_lab.nodes import LabNode
from strata_lab.proc import LabProcess
from strata_lab.servers import program
from strata_lab.undo import mounted

NBD_PORT = 10809
MAX_CONNECTIONS = 64
_MONITOR_S = 20.0
_IDS_MOST = 64

# Large buffers, too, are taken from the heap and stay in it. In a fresh one no page is there yet; btrfs then gives up
# on O_DIRECT and reads through the page cache.
_KEEP_BUFFERS = {"MALLOC_MMAP_THRESHOLD_": str(1 << 26), "MALLOC_TRIM_THRESHOLD_": str(1 << 29)}

Blockdev = Mapping[str, Any]
"""The words of ``--blockdev``, without a node name."""


@dataclass(frozen=True)
class Exports:
    """A daemon that serves NBD: ``uris`` by export name."""

    node: LabNode
    child: LabProcess
    uris: Mapping[str, str]


def disk(path: Path | str, *, offset: int = 0, size: int | None = None) -> Blockdev:
    """A block device or a file, unbuffered; with ``size`` only those bytes of it, beginning at ``offset``."""
    device = stat.S_ISBLK(Path(path).stat().st_mode)
    file: dict[str, Any] = {"driver": "host_device" if device else "file", "filename": str(path)}
    file |= {"cache": {"direct": True}, "aio": "native"}
    if size is None:
        return {**file}
    return {"driver": "raw", "offset": offset, "size": size, "file": file}


def nbd(host: str, export: str, port: int = NBD_PORT) -> Blockdev:
    """What another daemon, or any NBD server, exports."""
    return {"driver": "nbd", "server": {"type": "inet", "host": host, "port": str(port)}, "export": export}


def rbd(conf: Path, pool: str, image: str) -> Blockdev:
    """A block image of a Ceph cluster, without the client's cache."""
    return {"driver": "rbd", "pool": pool, "image": image, "conf": str(conf), "cache": {"direct": True}}


def throttled(what: Blockdev, group: str, *, named: str | None = None) -> Blockdev:
    """The same behind the cap of a throttle group (`serve`'s ``groups``). ``named``: its name for `regrouped`."""
    inner = {**what, "node-name": named} if named is not None else {**what}
    return {"driver": "throttle", "throttle-group": group, "file": inner}


def serve(
    lab: Lab,
    node: LabNode,
    exports: Mapping[str, Blockdev],
    *,
    name: str,
    port: int = NBD_PORT,
    groups: Mapping[str, Mapping[str, int]] | None = None,
    monitor: Path | None = None,
    accept: Callable[[int], bool] = lambda _: True,
) -> Exports:
    """Each of ``exports`` on the node's address and ``port``, writable.

    ``groups``: caps by name, each a QEMU throttle limit (``iops-total``, ``bps-total``) and its value; exports that
    name the same group share it. ``monitor``: where its socket for `limit` shall be. Its process id is one to which
    ``accept`` says yes (btrfs chooses the copy to read by it). Raises `RunFailed` with its words.
    """
    pid = lab.dir("run") / f"{name}.pid"
    words = [program("qemu-storage-daemon", "qemu-system-common"), "--pidfile", str(pid)]
    for group, limits in (groups or {}).items():
        words += ["--object", ",".join([f"throttle-group,id={group}", *(f"limits.{k}={v}" for k, v in limits.items())])]
    if monitor is not None:
        words += ["--chardev", f"socket,id=monitor,path={monitor},server=on,wait=off", "--monitor", "chardev=monitor"]
    address = f"addr.type=inet,addr.host={node.address},addr.port={port},max-connections={MAX_CONNECTIONS}"
    words += ["--nbd-server", address]
    for number, (export, what) in enumerate(exports.items()):
        words += ["--blockdev", json.dumps({**what, "node-name": f"d{number}"})]
        words += ["--export", f"nbd,id=e{number},node-name=d{number},name={export},writable=on"]
    child = _run(lab, node, words, name, pid)
    while not accept(child.pid):
        lab.stop(child)
        _use_up_ids(accept)
        child = _run(lab, node, words, name, pid)
    return Exports(node, child, {e: f"nbd://{node.address}:{port}/{e}" for e in exports})


def limit(monitor: Path, group: str, limits: Mapping[str, int]) -> None:
    """Other limits (``iops-total``, ``bps-total``; none: no cap) for a throttle group of a daemon that runs.

    Raises `RunFailed` with the daemon's words.
    """
    asked = {"path": f"/objects/{group}", "property": "limits", "value": {**limits}}
    _told(monitor, "qom-set", asked, "cannot limit", group)


def regrouped(monitor: Path, number: int, group: str, named: str) -> None:
    """The export of that number is from now on behind the cap of another group; ``named``: what it throttles.

    Raises `RunFailed` with the daemon's words.
    """
    made = {"driver": "throttle", "node-name": f"d{number}", "throttle-group": group, "file": named}
    _told(monitor, "blockdev-reopen", {"options": [made]}, "cannot throttle by another group", group)


def _told(monitor: Path, command: str, words: Mapping[str, Any], what: str, where: str) -> None:
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as dialled:
            dialled.settimeout(_MONITOR_S)
            dialled.connect(str(monitor))
            with dialled.makefile("rw") as talk:
                talk.readline()
                for asked in ({"execute": "qmp_capabilities"}, {"execute": command, "arguments": {**words}}):
                    talk.write(json.dumps(asked) + "\n")
                    talk.flush()
                    answer = json.loads(talk.readline())
                    if "error" in answer:
                        raise RunFailed(what, where, answer["error"]["desc"])
    except (OSError, ValueError) as e:
        raise RunFailed(what, where, f"its daemon does not answer: {e}") from e


def as_file(lab: Lab, node: LabNode, what: Blockdev, *, name: str) -> Path:
    """``what``, dialled from the node, as a file that others can open, with O_DIRECT too; its path."""
    path = lab.dir("files") / name
    path.touch()
    lab.undo("mount", path=str(path))
    pid = lab.dir("run") / f"{name}.pid"
    words = [
        program("qemu-storage-daemon", "qemu-system-common"),
        "--pidfile",
        str(pid),
        "--blockdev",
        json.dumps({**what, "node-name": "d0"}),
    ]
    words += ["--export", f"fuse,id=e0,node-name=d0,mountpoint={path},writable=on,growable=off"]
    child = _run(lab, node, words, name, pid)
    assert mounted(str(path)) and child.alive
    return path


def _use_up_ids(accept: Callable[[int], bool]) -> None:
    """Until the id after the last one is accepted. Ids are given in turn: a daemon that is merely started anew may get
    odd ones for minutes, as each start takes as many as the one before."""
    for _ in range(_IDS_MOST):
        with process.begin(["true"]) as last:
            pass
        if accept(last.pid + 1):
            return


def _run(lab: Lab, node: LabNode, words: Sequence[str], name: str, pid: Path) -> LabProcess:
    pid.unlink(missing_ok=True)
    # It writes its pid file when everything is exported.
    return lab.run(node, words, name=name, wait_for=pid.exists, env=_KEEP_BUFFERS)
