"""`strata target` deletes nothing of others, says who can reach it, and does not give all memory to its clients."""

from __future__ import annotations

import os
import select
import signal
import socket
import stat
import struct
import time
from pathlib import Path

import liars
import pytest
from commands import started, strata, target

from strata import units
from strata.app.target import warning
from strata.engine import Backing, TargetConfig

MIB = units.MIB


def _refuses(words: list[object], at: Path) -> None:
    done = strata("target", "--null", "1m", *words)
    assert done.returncode == 1, done.stderr
    assert str(at) in done.stderr and "give another path" in done.stderr


@pytest.mark.parametrize("option", ["--socket", "--stats"])
def test_what_is_at_its_path_and_no_stale_socket_is_left(option: str, tmp_path: Path) -> None:
    at = tmp_path / "data"
    words: list[object] = [option, at, *(["--listen", "127.0.0.1:0"] if option == "--stats" else [])]
    at.write_text("somebody's")
    _refuses(words, at)
    assert at.read_text() == "somebody's"
    at.unlink()
    with socket.socket(socket.AF_UNIX) as another:
        another.bind(str(at))
        another.listen()
        _refuses(words, at)
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(at))
    # Now nobody listens there: it is what a server that was killed leaves.
    with target("--null", "1m", *words):
        mode = at.stat().st_mode
        assert stat.S_ISSOCK(mode) and stat.S_IMODE(mode) == 0o600
    assert not at.exists(), "its own goes with it"


@pytest.mark.parametrize("option", ["--socket", "--stats"])
def test_what_took_the_place_of_its_socket_stays_when_it_ends(option: str, tmp_path: Path) -> None:
    at = tmp_path / "s"
    words: list[object] = [option, at, *(["--listen", "127.0.0.1:0"] if option == "--stats" else [])]
    with target("--null", "1m", *words):
        at.rename(tmp_path / "moved")
        at.write_text("somebody's")
    assert at.read_text() == "somebody's"


def test_a_socket_that_a_killed_target_left_makes_room(tmp_path: Path) -> None:
    at = tmp_path / "s"
    with target("--null", "1m", "--socket", at) as (_, server):
        server.send_signal(signal.SIGKILL)
        server.wait()
    assert at.exists()
    with target("--null", "1m", "--socket", at) as (uri, _):
        assert uri.endswith(str(at))


def _config(listen: str | None = "127.0.0.1:0", *, kind: str = "memory", writable: bool = False) -> TargetConfig:
    backing = Backing.model_validate({"kind": kind, "size_bytes": MIB, "path": "/f", "read_only": not writable})
    return TargetConfig(tcp=listen, unix=None if listen else "/s", backing=backing)


@pytest.mark.parametrize(
    ("config", "words"),
    [
        (_config(None, writable=True), None),
        (_config(kind="null"), None),
        (_config(), None),
        (_config(writable=True), "every user of this machine can write to it"),
        (_config("localhost:1", kind="file"), "every user of this machine can read it"),
        (_config("[::1]:1", kind="file"), "every user of this machine can read it"),
        (_config("0.0.0.0:1"), "every machine that reaches this one over the network can read it"),
        (_config("[::]:1", kind="null"), "every machine that reaches this one over the network can read it"),
        (_config("host:1", writable=True), "every machine that reaches this one over the network can write to it"),
    ],
)
def test_who_can_reach_it_is_said(config: TargetConfig, words: str | None) -> None:
    said = warning(config)
    assert said is None if words is None else said is not None and words in said


def test_memory_takes_writes_only_when_asked_to_and_with_a_warning() -> None:
    words = ("--memory", "16m", "--listen", "127.0.0.1:0")
    with target(*words) as (uri, _):
        done = strata("measure", uri, "--rw", "randwrite", "--runtime", "100ms", "--destructive", uri)
        assert done.returncode == 1 and "read-only" in done.stderr, done.stderr
    served = started("target", *words, "--writable")
    try:
        assert served.stderr is not None
        said = [served.stderr.readline() for _ in range(3)]
    finally:
        served.terminate()
        served.communicate(timeout=30)
    assert any(line.startswith("warning: every user of this machine can write to it") for line in said), said


def _resident(pid: int) -> int:
    fields = (Path("/proc") / str(pid) / "statm").read_text().split()
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE")


def _greedy(port: int) -> socket.socket:
    """A client that asks for 64 MiB and takes nothing of it."""
    sock = socket.create_connection(("127.0.0.1", port))
    sock.recv(18, socket.MSG_WAITALL)
    go = struct.pack(">I", 0) + struct.pack(">H", 0)
    sock.sendall(struct.pack(">I", 3) + b"IHAVEOPT" + struct.pack(">II", liars.OPT_GO, len(go)) + go)
    while struct.unpack(">QIII", head := sock.recv(20, socket.MSG_WAITALL))[2] != liars.REP_ACK:
        sock.recv(struct.unpack(">I", head[16:])[0], socket.MSG_WAITALL)
    reads = (struct.pack(">IHHQQI", 0x25609513, 0, 0, n, 0, 16 * MIB) for n in range(4))
    sock.sendall(b"".join(reads))
    return sock


def _stands_still(pid: int, at_least: int) -> int:
    """Resident bytes of a process, once they have reached so many and grow no more."""
    before, deadline = 0, time.monotonic() + 20
    while (now := _resident(pid)) < at_least or now > before + MIB:
        assert time.monotonic() < deadline, f"{now / MIB:.0f} MiB"
        before = now
        time.sleep(0.1)
    return now


def test_clients_that_take_no_replies_hold_no_more_than_the_servers_budget() -> None:
    with target("--memory", "16m", "--listen", "127.0.0.1:0") as (uri, server):
        port = int(uri.rpartition(":")[2].rstrip("/"))
        before = _resident(server.pid)
        clients = [_greedy(port) for _ in range(32)]
        try:
            # All that they asked for would be 2 GiB. Which of them are served is chance: the others wait until the
            # server hangs up on those, half a minute later, so none is asked for its reply.
            held = _stands_still(server.pid, before + 200 * MIB) - before
            assert held < 450 * MIB, f"{held / MIB:.0f} MiB"
            assert 4 <= len(select.select(clients, [], [], 0)[0]) < len(clients), "the first bytes of their replies"
        finally:
            for client in clients:
                client.close()
        # They are gone, and it serves.
        done = strata("measure", uri, "--runtime", "100ms", "--progress", "none")
        assert done.returncode == 0, done.stderr
