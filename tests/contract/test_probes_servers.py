"""Server processes: found by what they listen on, with their children and all threads, in real processes."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from strata.host.proc import Sys
from strata.model.counters import servers
from strata.probes import PROBES, ProbeScope, processes
from strata.probes.port import Probe
from strata.probes.servers import PROCESSES_MOST, ServersProbe
from strata.probes.servers.find import listeners

FORKING = """
import os, resource, socket, sys, time
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
while True:
    one, _ = listener.accept()
    if os.fork() == 0:
        # As smbd does: a process for each connection, which ends with it.
        while one.recv(1):
            begun = time.process_time()
            while time.process_time() - begun < 0.1: pass
            one.sendall(b"s")
        os._exit(0)
    one.close()
    os.waitpid(-1, 0)
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(ended.ru_utime + ended.ru_stime, time.process_time(), flush=True)
"""

THREADS = """
import sys, threading, time
def spin():
    while True: pass
threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
print("ready", flush=True)
sys.stdin.readline()
spin()
"""


@contextmanager
def running(code: str) -> Iterator[subprocess.Popen[str]]:
    words = [sys.executable, "-c", code]
    child = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
    assert child.stdin is not None and child.stdout is not None
    try:
        yield child
    finally:
        child.kill()
        child.stdin.close()
        child.stdout.close()
        child.wait()


def told(child: subprocess.Popen[str]) -> str:
    assert child.stdout is not None
    return child.stdout.readline().strip()


def reader(probe: Probe) -> Callable[[], dict[str, float | None]]:
    def read() -> dict[str, float | None]:
        values = probe.read()
        found = {c.metric: v for c, v in zip(probe.columns, values, strict=True)}
        modes = [v for c, v in zip(probe.columns, values, strict=True) if c.counter is servers.CPU_SECONDS]
        known = [v for v in modes if v is not None]
        return found | {"cpu": sum(known) if len(known) == len(modes) else None}

    return read


def until(read: Callable[[], dict[str, float | None]], processes: int) -> dict[str, float | None]:
    """The sample in which so many processes are seen: how often it may look is bounded by what that takes."""
    for _ in range(500):
        found = read()
        if found["server_processes"] == processes:
            return found
        time.sleep(0.01)
    raise AssertionError(f"{processes} processes were not seen")


def test_a_process_for_each_connection_counts_from_its_birth_and_after_its_end() -> None:
    with running(FORKING) as server:
        port = int(told(server))
        probe = PROBES["servers"](ProbeScope(ports=(port,)))
        read = reader(probe)
        try:
            first = read()
            assert first["server_processes"] == 1, "found by its port, before anybody connects"
            assert first["cpu"] is not None
            with socket.create_connection(("127.0.0.1", port)) as client:
                # What it does before anybody looks again is not lost.
                client.sendall(b"x")
                assert client.recv(1) == b"s"
                second = until(read, 2)
                assert second["cpu"] is not None
                assert second["cpu"] - first["cpu"] >= 0.085  # nine ticks at least
                client.sendall(b"x")
                assert client.recv(1) == b"s"
            children, own = map(float, told(server).split())
            third = read()
            assert third["server_processes"] == 1
            assert third["cpu"] is not None, "its parent was told what it had"
            used = third["cpu"] - first["cpu"]
            assert children >= 0.2
            assert children - 0.025 <= used <= children + own + 0.025, "and it is counted once"
            assert third["server_run_delay_seconds"] is None, "the waits of its last moments nobody knows"
            fourth = read()
            assert fourth["server_run_delay_seconds"] is not None
            assert fourth["server_run_delay_seconds"] >= (second["server_run_delay_seconds"] or 0)
        finally:
            probe.close()


def test_the_busiest_thread_of_an_idle_process_with_one_that_spins() -> None:
    with running(THREADS) as child:
        assert told(child) == "ready"
        probe = PROBES["servers"](ProbeScope(pids=(child.pid,)))
        read = reader(probe)
        try:
            assert read()["server_busiest_thread"] is None, "nothing to hold it against"
            time.sleep(0.05)
            idle = read()["server_busiest_thread"]
            assert child.stdin is not None
            child.stdin.write("go\n")
            # However much of a processor the machine gives it: the kernel counts the same of its thread.
            apart = []
            for _ in range(5):
                read()
                before, begun = used_by(child.pid), time.monotonic()
                time.sleep(0.2)
                share = (used_by(child.pid) - before) / (time.monotonic() - begun)
                busy = read()["server_busiest_thread"]
                assert busy is not None and 0 < busy <= 1.0
                apart.append(abs(busy - min(share, 1.0)))
            assert min(apart) < 0.1, apart
            assert idle is not None and idle < 0.1
        finally:
            probe.close()


def used_by(pid: int) -> float:
    """CPU seconds of the first thread of that process."""
    return int(Path(f"/proc/{pid}/task/{pid}/schedstat").read_text().split()[0]) / 1e9


def test_we_ourselves_are_no_server_of_ours() -> None:
    with socket.create_server(("127.0.0.1", 0)) as mine:
        probe = PROBES["servers"](ProbeScope(ports=(mine.getsockname()[1],), pids=(os.getpid(),)))
        assert probe.columns == () and probe.absent == ()
        probe.close()


def test_whoever_started_us_is_no_server_of_the_path() -> None:
    """A shell's or a service manager's listener would have our own CPUs counted as the server's."""
    probe = PROBES["servers"](ProbeScope(pids=(os.getppid(), 1)))
    assert probe.columns == () and probe.absent == ()
    probe.close()


CROWD = """
import os, sys, time
def child():
    if os.fork() == 0:
        time.sleep(600)
        os._exit(0)
for _ in range(70): child()
print("ready", flush=True)
sys.stdin.readline()
child()
print("one more", flush=True)
sys.stdin.readline()
os.killpg(0, 9)
"""


def test_of_a_crowd_the_root_and_the_newest_are_read_and_none_twice() -> None:
    words = [sys.executable, "-c", CROWD]
    how: dict[str, Any] = {
        "stdin": subprocess.PIPE,
        "stdout": subprocess.PIPE,
        "text": True,
        "bufsize": 1,
        "start_new_session": True,
    }
    with subprocess.Popen(words, **how) as child, running(THREADS) as other:
        try:
            assert told(child) == "ready" and told(other) == "ready"
            probe = ServersProbe(ProbeScope(pids=(child.pid, other.pid)))
            read = crowd_of(probe)
            before = until(read, 71)
            assert sorted(len(one.account.last) for one in probe._servers) == [1, PROCESSES_MOST - 1]
            assert child.stdin is not None
            child.stdin.write("go\n")
            assert told(child) == "one more"
            # Who was left out once is not read again: it would be counted from its birth.
            first = set(probe._servers[0].account.last)
            after = until(read, 72)
            came = set(probe._servers[0].account.last) - first
            assert len(came) == 1 and (child.pid in {pid for pid, _ in probe._servers[0].account.last})
            assert (after["server_resident_bytes"] or 0) > 0 and before["cpu"] is not None
            probe.close()
        finally:
            os.killpg(child.pid, 9)


def crowd_of(probe: ServersProbe) -> Callable[[], dict[str, float | None]]:
    """Of the first of its servers."""

    def read() -> dict[str, float | None]:
        values = probe.read()[: len(probe.columns) // 2]
        return {"cpu": values[0]} | {c.metric: v for c, v in zip(probe.columns, values, strict=False)}

    return read


def test_who_shares_a_group_and_is_ours_is_not_counted() -> None:
    with running(THREADS) as server, running(THREADS) as ours:
        assert told(server) == "ready" and told(ours) == "ready"
        probe = ServersProbe(ProbeScope(pids=(server.pid,)))
        others = f"{ours.pid} {os.getpid()} {os.getppid()} 1"
        group = cast("Any", SimpleNamespace(read=others.encode))
        probe._servers[0].group_members = group
        read = reader(probe)
        assert [read()["server_processes"] for _ in range(3)] == [1, 1, 1]
        probe.close()


HANDED_OVER = """
import os, socket, sys, time
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
sys.stdin.readline()
child = os.fork()
if child: listener.close(); print(child, flush=True)
time.sleep(600)
"""


def test_recordings_of_a_session_ask_each_process_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """And still find who listens: a server that came since, and one to whom a known one gave its socket."""
    asked: list[int] = []
    real = processes.sockets_of

    def counted(pid: int, streams: bool = True) -> frozenset[str]:
        asked.append(pid)
        return real(pid, streams)

    monkeypatch.setattr(processes, "sockets_of", counted)
    shared = processes.Processes(Sys())

    def found(port: int) -> tuple[int, ...]:
        shared.begin()
        asked.clear()
        return listeners(ProbeScope(ports=(port,), processes=shared))

    with running(FORKING) as one:
        port = int(told(one))
        assert found(port) == (one.pid,)
        everybody = len(asked)
        assert len(set(asked)) == everybody > 2
        assert found(port) == (one.pid,) and one.pid in asked and len(asked) < everybody
        with running(FORKING) as two:
            later = int(told(two))
            assert found(later) == (two.pid,) and two.pid in asked and len(asked) < everybody
        with running(HANDED_OVER) as three:
            third = int(told(three))
            assert found(third) == (three.pid,)
            assert three.stdin is not None
            three.stdin.write("go\n")
            child = int(told(three))
            try:
                assert found(third) == (child,), "whoever had it has it no more"
            finally:
                os.kill(child, 9)
