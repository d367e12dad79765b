"""Nodes: each namespace's own counters, moved by real traffic, real processes and real limits."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from loops import MIB, image, loop, need, need_root, run
from namespaces import Nodes, inside, two_nodes

from strata.engine import Backing, Shaping, TargetConfig, TargetProcess
from strata.errors import UsageError
from strata.host.netns import within
from strata.model import histogram
from strata.model.series import Series
from strata.probes import ProbedNode, Sampler
from strata.probes.links import links
from strata.probes.target import ask, between

PORT = 15099
SIZE = 2 * MIB

SERVER = f"""
import socket, sys, os, time
listener = socket.create_server((sys.argv[1], {PORT}))
os.write(1, b"ready\\n")
while True:
    one, _ = listener.accept()
    while data := one.recv(1 << 16):
        pass
    # The kernel counts in ticks of 10 ms: ten of them show on any CPU.
    begun = time.process_time()
    while time.process_time() - begun < 0.1:
        pass
    os.write(1, b"done\\n")
"""


def pick(found: Sequence[Series], metric: str, **labels: str) -> Series:
    hits = [s for s in found if s.metric == metric and labels.items() <= s.labels.items()]
    assert len(hits) == 1, (metric, labels, [(s.metric, s.labels) for s in found if s.metric == metric])
    return hits[0]


@contextlib.contextmanager
def server(nodes: Nodes) -> Iterator[subprocess.Popen[bytes]]:
    argv = [*inside(nodes.second), sys.executable, "-c", SERVER, nodes.second_address]
    child = subprocess.Popen(argv, stdout=subprocess.PIPE)
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        yield child
    finally:
        child.kill()
        child.wait()
        if child.stdout:
            child.stdout.close()


def nodes_of(two: Nodes) -> list[ProbedNode]:
    return [ProbedNode("n1", two.first, ports=(PORT,)), ProbedNode("n2", two.second, ports=(PORT,))]


@pytest.mark.root
def test_a_port_without_a_carrier_is_no_free_card_until_something_passes_it() -> None:
    need_root()
    ip = need("ip")
    with two_nodes() as two:
        name = Path(two.first).name
        run(ip, "-n", name, "link", "add", "wire2", "type", "veth", "peer", "name", "other2")
        run(ip, "-n", name, "link", "set", "wire2", "up")
        known = {link.name: (link.carrier, link.part, link.loopback) for link in links(two.first)}
        assert known["wire2"] == (False, False, False) and known["wire"] == (True, False, False) and known["lo"][2]
        sampler = Sampler([], 60, nodes=[ProbedNode("n1", two.first)]).start()
        quiet = sampler.stop()
        sampler = Sampler([], 60, nodes=[ProbedNode("n1", two.first)]).start()
        run(ip, "-n", name, "link", "set", "other2", "up")
        run(ip, "-n", name, "address", "add", "10.214.7.9/24", "dev", "wire2")
        within(two.first, lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("10.214.7.1", 9)))
        moved = sampler.stop()
    told = {s.labels["interface"] for s in quiet if s.metric == "net_bytes"}
    assert "wire" in told and "wire2" not in told
    assert "wire2" in {s.labels["interface"] for s in moved if s.metric == "net_bytes"}


@pytest.mark.root
def test_bytes_packets_and_connections_of_two_namespaces() -> None:
    need_root()
    with two_nodes() as two, server(two) as child:
        client = within(two.first, lambda: socket.create_connection((two.second_address, PORT)))
        sampler = Sampler([], 60, nodes=nodes_of(two)).start()
        client.sendall(bytes(SIZE))
        client.shutdown(socket.SHUT_WR)
        assert child.stdout is not None
        assert child.stdout.readline() == b"done\n"
        found = sampler.stop()
        client.close()
    assert sampler.absent == () or not any(" of n" in why and "tcp" in why for why in sampler.absent)
    for node, direction in (("n1", "tx"), ("n2", "rx")):
        grown = pick(found, "net_bytes", node=node, interface="wire", direction=direction).delta
        assert grown is not None
        assert SIZE <= grown < SIZE * 1.1
        other = pick(found, "net_bytes", node=node, interface="wire", direction="rx" if direction == "tx" else "tx")
        assert other.delta is not None
        assert other.delta < SIZE / 4
    sent = pick(found, "tcp_acked_bytes", node="n1", end="client")
    assert sent.labels["peer"] == f"{two.second_address}:{PORT}"
    # The end of the stream is counted as a byte.
    assert sent.delta in (SIZE, SIZE + 1)
    assert pick(found, "tcp_received_bytes", node="n2", end="server").delta in (SIZE, SIZE + 1)
    assert pick(found, "tcp_rtt_seconds", node="n1", end="client").values[-1] > 0
    for node, end in (("n1", "client"), ("n2", "server")):
        for metric in ("tcp_min_rtt_seconds", "tcp_delivery_rate", "tcp_busy_seconds", "tcp_retransmits"):
            assert pick(found, metric, node=node, end=end).labels["port"] == str(PORT), "both ends, of that service"
    segments = pick(found, "tcp_segments", node="n1", direction="out").delta
    assert segments is not None
    assert segments > 0
    spent = [s for s in found if s.metric == "server_cpu_seconds"]
    assert {s.labels["node"] for s in spent} == {"n2"}, "the listener is found where it listens"
    assert sum(s.delta or 0 for s in spent) >= 0.08
    switches = pick(found, "server_switches", node="n2").delta
    assert switches is not None
    assert switches > 0
    assert not any(s.metric == "cpu_seconds" and "node" in s.labels for s in found)


@pytest.mark.root
def test_a_node_has_all_its_servers_and_what_they_ask_of_others() -> None:
    """Nobody names the port: as on a storage node behind the server that the layer leads to."""
    need_root()
    with two_nodes() as two, server(two) as child:
        client = within(two.first, lambda: socket.create_connection((two.second_address, PORT)))
        idle = within(two.first, lambda: socket.create_connection((two.second_address, PORT)))
        # A minute between samples: the second one is the last.
        sampler = Sampler([], 60, nodes=[ProbedNode("n1", two.first), ProbedNode("n2", two.second)]).start()
        client.sendall(bytes(SIZE))
        time.sleep(0.1)
        found = sampler.stop()
        client.close()
        idle.close()
        assert child.stdout is not None
        assert child.stdout.readline() == b"done\n"
    assert {s.labels["node"] for s in found if s.metric == "server_cpu_seconds"} == {"n2"}
    ends = {(s.labels["node"], s.labels["end"], s.labels["port"]) for s in found if s.metric == "tcp_rtt_seconds"}
    assert ends == {("n1", "client", str(PORT)), ("n2", "server", str(PORT))}
    assert len([s for s in found if s.metric == "tcp_rtt_seconds"]) == 2, "the idle connection is not followed"


@pytest.mark.root
def test_a_shaped_interface_shows_its_backlog_and_what_it_drops() -> None:
    need_root()
    tc = need("tc")
    with two_nodes() as two:
        run(*inside(two.first), tc, "qdisc", "add", "dev", "wire", "root", "handle", "5:", "tbf",
            "rate", "64kbit", "burst", "4k", "limit", "16k")  # fmt: skip
        sender = within(two.first, lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        receiver = within(two.second, lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        receiver.bind((two.second_address, PORT))
        sampler = Sampler([], 60, nodes=nodes_of(two)).start()
        for _ in range(64):
            with contextlib.suppress(OSError):
                sender.sendto(bytes(1200), (two.second_address, PORT))
        found = sampler.stop()
        sender.close()
        receiver.close()
    shaped = {"node": "n1", "interface": "wire", "discipline": "tbf", "handle": "5"}
    drops, backlog = pick(found, "qdisc_drops", **shaped), pick(found, "qdisc_backlog_bytes", **shaped)
    assert drops.delta is not None
    assert drops.delta > 10
    assert backlog.values[0] == 0
    assert 4096 < backlog.values[-1] <= 16384
    over = pick(found, "qdisc_overlimits", **shaped).delta
    assert over is not None
    assert over > 0


@pytest.mark.root
def test_a_namespace_that_is_not_there_is_said_and_takes_nothing_else_along() -> None:
    need_root()
    sampler = Sampler([], 60, nodes=[ProbedNode("gone", "/run/netns/strata-is-not-there")]).start()
    found = sampler.stop()
    assert any("counters of gone" in why and "No such file" in why for why in sampler.absent)
    assert any(s.metric == "cpu_seconds" for s in found)
    with pytest.raises(UsageError, match="cannot enter"):
        within("/run/netns/strata-is-not-there", lambda: None)


@pytest.mark.root
def test_nobody_else_moves_into_the_namespace() -> None:
    need_root()
    here = os.readlink("/proc/self/ns/net")  # noqa: PTH115 - a name, not a path
    with two_nodes() as two:
        there = within(two.first, lambda: os.readlink("/proc/thread-self/ns/net"))  # noqa: PTH115
        assert there != here
        with pytest.raises(ZeroDivisionError):
            within(two.first, lambda: 1 // 0)
    assert os.readlink("/proc/thread-self/ns/net") == here  # noqa: PTH115


@pytest.mark.root
def test_a_process_that_is_held_back_by_a_quota(tmp_path: Path) -> None:
    need_root()
    base = Path("/sys/fs/cgroup/cpu")
    if not (base / "cpu.cfs_quota_us").exists():
        pytest.skip("no control groups of version 1 here")
    group = base / f"strata-test-{os.getpid()}"
    group.mkdir()
    child = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        (group / "cpu.cfs_period_us").write_text("10000")
        (group / "cpu.cfs_quota_us").write_text("1000")
        (group / "tasks").write_text(str(child.pid))
        sampler = Sampler([], 60, nodes=[ProbedNode("n", pids=(child.pid,))]).start()
        stat = group / "cpu.stat"
        before = stat.read_text().split()
        for _ in range(200):
            now = stat.read_text().split()
            # The count grows with each period, the time only when it is let go: both are waited for.
            if now[3] != before[3] and now[5] != before[5]:
                break
            time.sleep(0.05)
        found = sampler.stop()
    finally:
        child.kill()
        child.wait()
        for _ in range(100):
            with contextlib.suppress(OSError):
                group.rmdir()
                break
            time.sleep(0.02)
    name = f"/{group.name}"
    throttled = pick(found, "cgroup_throttled_seconds", cgroup=name, node="n").delta
    assert throttled is not None
    assert throttled > 0
    assert (pick(found, "cgroup_throttled_periods", cgroup=name).delta or 0) > 0
    assert not any(s.metric == "server_cpu_seconds" and s.delta is None for s in found)


@pytest.mark.root
def test_bytes_written_to_a_loop_device_show_there_and_under_it(tmp_path: Path) -> None:
    need_root()
    with loop(image(tmp_path / "disk.img", 8 * MIB)) as device:
        sampler = Sampler([device], 0.05, paths=[str(tmp_path)]).start()
        fd = os.open(device, os.O_WRONLY)
        os.write(fd, os.urandom(MIB))
        os.fsync(fd)
        os.close(fd)
        found = sampler.stop()
    name = device.removeprefix("/dev/")
    assert pick(found, "blockdev_write_bytes", device=name).delta == MIB
    assert (pick(found, "blockdev_weighted_seconds", device=name).delta or 0) >= 0
    dirtied = pick(found, "pages", event="dirtied").delta
    assert dirtied is not None
    assert dirtied * 4096 >= MIB, "through the page cache, of the device and of the file under it"
    assert pick(found, "filesystem_bytes", kind="total").values[-1] > 0
    assert pick(found, "filesystem_inodes", kind="free").values[-1] > 0


def test_a_target_tells_what_its_side_took(tmp_path: Path) -> None:
    stats = str(tmp_path / "stats")
    shape = Shaping(service_time_ns=3_000_000, latency_ns=20_000_000)
    config = TargetConfig(backing=Backing(kind="memory", size_bytes=MIB, read_only=False), shape=shape, stats=stats)
    with TargetProcess(config) as target:
        from strata.engine import read_remote
        from strata.model.endpoint import Endpoint

        endpoint = Endpoint.parse(target.uri())
        before = ask(stats, times=True)
        sampler = Sampler([], 60, nodes=[ProbedNode(stats=stats)]).start()
        begun = time.monotonic()
        for _ in range(4):
            read_remote(endpoint, 0, 4096)
        took = time.monotonic() - begun
        found = sampler.stop()
        grown = between(before, ask(stats, times=True))
    assert pick(found, "target_requests", direction="read").delta == 4
    assert pick(found, "target_bytes", direction="read").delta == 4 * 4096
    seconds = pick(found, "target_seconds", direction="read").delta
    assert seconds is not None
    # A sleep ends by a clock of its own: a twentieth less than asked for is that.
    assert 0.95 * 4 * 0.003 <= seconds < took - 0.95 * 4 * 0.020, "the medium is in it, the wire is not"
    assert set(grown) == {"read"}
    assert histogram.total(grown["read"]) == 4
    assert histogram.quantiles(grown["read"], [0.5])[0] >= 3_000_000
    assert not Path(stats).exists(), "removed with the target"


def test_a_targets_statistics_may_be_in_no_directory() -> None:
    stats = f"@strata-test-{os.getpid()}"
    with TargetProcess(TargetConfig(backing=Backing(kind="null", size_bytes=MIB), stats=stats)):
        assert ask(stats)["read"] == {"ops": 0, "bytes": 0, "time_ns": 0}
    with pytest.raises(OSError, match="refused"):
        ask(stats)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (b"", "not valid JSON"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "not valid JSON"),
        (b"\xff\xfe", "codec can't decode"),
        (b"[" * 100_000, "of a target"),
        (b'{"read": {"ops": 1, "bytes": 1, "time_ns": 1}}', "another format"),
        (b'{"read": 1, "write": 1, "sync": 1}', "another format"),
        (
            json.dumps({key: {"ops": 1, "bytes": -1, "time_ns": 1} for key in ("read", "write", "sync")}).encode(),
            "another format",
        ),
        (
            json.dumps(
                {key: {"ops": 1, "bytes": 1, "time_ns": 1, "bins": [["5", 2]]} for key in ("read", "write", "sync")}
            ).encode(),
            "another format",
        ),
        (b" " * (5 << 20), "too long or too slow"),
    ],
)
def test_a_socket_that_is_no_targets_costs_its_counters_alone(tmp_path: Path, answer: bytes, why: str) -> None:
    """A stack file may name any socket: of whoever listens there at most 4 MiB are taken, and nothing is believed."""
    at = str(tmp_path / "s")
    asked: list[bytes] = []

    def serve(server: socket.socket) -> None:
        for _ in range(2):
            connection, _ = server.accept()
            with connection, contextlib.suppress(OSError):
                asked.append(connection.recv(64))
                connection.sendall(answer)

    with socket.socket(socket.AF_UNIX) as server:
        server.bind(at)
        server.listen()
        serving = threading.Thread(target=serve, args=(server,))
        serving.start()
        with pytest.raises(OSError, match=why):
            ask(at)
        sampler = Sampler([], 60, nodes=[ProbedNode("far", stats=at)]).start()
        found = sampler.stop()
        serving.join(10)
    assert not [s for s in found if s.metric.startswith("target_")]
    assert [said for said in sampler.absent if at in said and why in said], sampler.absent
    assert asked == [b"s", b"s"]


def test_a_target_that_began_anew_has_no_distribution_in_between() -> None:
    assert between({"read": {"bins": [[5, 9]]}}, {"read": {"bins": [[5, 2]]}}) == {}
    assert between({"read": {"bins": [[7, 9]]}}, {"read": {"bins": [[5, 2]]}}) == {}


def test_samples_of_all_nodes_share_their_instants() -> None:
    sampler = Sampler([], 0.02, nodes=[ProbedNode("a"), ProbedNode("b")]).start()
    done = threading.Event()
    done.wait(0.2)
    found = sampler.stop()
    # The loopback of this machine, read as two nodes: bytes move between the two readings of one sample.
    a = pick(found, "tcp_segments", node="a", direction="in")
    b = pick(found, "tcp_segments", node="b", direction="in")
    assert len(a.t_ns) > 1
    apart = [abs(x - y) for x, y in zip(a.t_ns, b.t_ns, strict=False)] if len(a.t_ns) == len(b.t_ns) else [0]
    assert sorted(apart)[len(apart) // 2] < 20e6
