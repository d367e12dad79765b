"""Several machines as nodes of one cluster: certificates, the scheduler, a node in this process, and who is there."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from strata import parsing, units
from strata.errors import RunFailed, StrataError, UsageError
from strata.fleet import Cluster, counters, doors, identity, serving
from strata.fleet import trust as certificates
from strata.host import atomic_write, netns, ownership, xdg
from strata.host.proc import descriptor
from strata.host.untrusted import read_text
from strata.model.nodes import NODE_NAME, NODE_NAME_SAID, NodeClock, NodeInfo, NodeList, TrustState

_SCHEDULER_FILE = "cannot read the scheduler file"
_LOOK_EVERY_S = 0.2


def trust(
    names: tuple[str, ...], folder: Path | None, days: int, *, renew: bool, revoke: bool, check: bool
) -> TrustState:
    """Makes certificates for the names or revokes them, or with ``check`` says what is wrong with those there are."""
    root = folder or identity.folder()
    if check:
        return certificates.check(root)
    if revoke:
        if not names:
            raise UsageError("cannot revoke", "", "no name is given", "strata node trust --revoke NAME …")
        return certificates.revoke(root, names)
    return certificates.make(root, names, days, renew=renew)


def serve(listen: str, trust: Path | None, scheduler_file: Path | None, say: Callable[[str], None]) -> int:
    """A scheduler until a signal ends it; the number of that."""
    door = doors.parsed(listen)

    def ready(address: str) -> None:
        if scheduler_file is not None:
            _write(scheduler_file, address)
        if door.plain:
            say(_warning("every other user of this machine can run any code as you through it"))
        say(f"scheduler at {address} (pid {os.getpid()}); stop with Ctrl-C")
        say(f"a node joins with: strata node join {address} --name NAME")

    try:
        return serving.serve(door, trust, ready)
    finally:
        if scheduler_file is not None:
            scheduler_file.unlink(missing_ok=True)


def join(
    address: str | None,
    name: str | None,
    namespace: str | None,
    trust: Path | None,
    scheduler_file: Path | None,
    wait_s: float,
    say: Callable[[str], None],
) -> int:
    """A node until a signal ends it; the number of that. Raises `RunFailed` once its scheduler is gone."""
    if (address is None) == (scheduler_file is None):
        raise UsageError("cannot join", "", "", "give either the address of the scheduler or --scheduler-file")
    called = name if name is not None else socket.gethostname().partition(".")[0]
    if re.fullmatch(NODE_NAME, called) is None:
        raise UsageError("cannot call the node", called[:300], NODE_NAME_SAID, "give another --name")
    if namespace is not None:
        # The whole process: nothing of it has another thread yet.
        netns.enter(namespace)
    until = time.monotonic() + wait_s
    door = doors.parsed(address or "" if scheduler_file is None else _address(scheduler_file, until))
    doors.admitted(door, "will not connect to")
    with _folder(called) as folder:
        made = serving.Joining(
            called, door, trust, folder, max(0.0, until - time.monotonic()), counters.absent()
        )  # fmt: skip

        def ready(at: str) -> None:
            if door.plain and os.geteuid() == 0:
                say(_warning("every user of this machine can run any code as root through it"))
            say(f"node {called} at {at} (pid {os.getpid()}) has joined {door.address}; stop with Ctrl-C")

        return serving.join(made, ready)


def list_nodes(address: str, trust: Path | None, namespace: str | None) -> NodeList:
    """The nodes of that scheduler, each with its clock."""
    with Cluster.connect(address, trust, netns=namespace) as cluster:
        return NodeList(scheduler=cluster.address, nodes=tuple(_clock(cluster, node) for node in cluster.nodes()))


def _clock(cluster: Cluster, node: NodeInfo) -> NodeClock:
    try:
        return NodeClock(node=node, clock=cluster.clock(node.name))
    except StrataError as e:
        return NodeClock(node=node, problem=e.headline)


def _warning(who: str) -> str:
    return f"warning: {who}, because a plain connection has no certificates; tls:// restricts it (strata node trust)"


def _write(path: Path, address: str) -> None:
    import json

    try:
        with atomic_write.directory(path.absolute().parent) as fd:
            atomic_write.replace_in(fd, path.name, json.dumps({"type": "Scheduler", "address": address}).encode())
    except OSError as e:
        raise RunFailed("cannot write the scheduler file", str(path), e.strerror or str(e), "give another path") from e


def _address(path: Path, until: float) -> str:
    """What the scheduler wrote there. It may still be starting, and a shared file system be late."""
    while not path.exists() and time.monotonic() < until:
        time.sleep(_LOOK_EVERY_S)
    text = read_text(path, _SCHEDULER_FILE, units.MIB, "start: strata node serve --scheduler-file")
    try:
        address = parsing.json_of(text)["address"]
    except (ValueError, KeyError, TypeError) as e:
        raise UsageError(_SCHEDULER_FILE, str(path), "it names no address", "strata node serve writes one") from e
    return str(address)


@contextlib.contextmanager
def _folder(name: str) -> Iterator[Path]:
    """The node's folder, for one process at a time."""
    root = ownership.folder(xdg.state_dir() / "nodes", xdg.ELSEWHERE, NODE_NAME)
    folder = root / name
    ownership.folder(folder, "remove what is there", r"plans|scratch|lock|.*")
    with descriptor(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600) as fd:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as e:
            holder = os.pread(fd, 20, 0).decode("ascii", "replace").strip()
            why = f"{f'process {holder}' if holder else 'another process'} already runs this node"
            raise RunFailed("cannot join as node", name, why, "give another --name") from e
        os.ftruncate(fd, 0)
        os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
        try:
            yield folder
        finally:
            (folder / "lock").unlink(missing_ok=True)
            with contextlib.suppress(OSError):
                # What it carried out, and what it measured, stays.
                folder.rmdir()
