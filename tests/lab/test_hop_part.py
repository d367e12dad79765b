"""The hop between two real network namespaces: what TCP sees of it is what it did."""

from __future__ import annotations

import ctypes
import os
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pytest
from loops import MIB, need, run

from strata.errors import RunFailed, UsageError
from strata.host.process import Child
from strata_lab.parts.hop import HopControl, main

pytestmark = pytest.mark.root
T = TypeVar("T")
CLONE_NEWNET = 0x40000000
ADDRESS = "192.0.2.2"


@dataclass(frozen=True)
class TcpInfo:
    """Of struct tcp_info: smoothed round trip in µs, and segments sent again."""

    rtt_us: int
    retransmitted: int


@dataclass
class Wire:
    """Two namespaces and the hop between them."""

    name: str
    control: HopControl
    child: Child

    def within(self, end: str, body: Callable[[], T]) -> T:
        """The body in a thread of that namespace; what it opens there stays there."""
        results: list[T] = []

        def enter() -> None:
            fd = os.open(f"/run/netns/{self.name}{end}", os.O_RDONLY | os.O_CLOEXEC)
            libc = ctypes.CDLL(None, use_errno=True)
            assert libc.setns(fd, CLONE_NEWNET) == 0
            os.close(fd)
            results.append(body())

        thread = threading.Thread(target=enter)
        thread.start()
        thread.join(60)
        return results[0]

    def carry(self, size: int) -> TcpInfo:
        """So many bytes over one connection from a to b; they arrive as they were sent."""
        listener = self.within("b", lambda: socket.create_server((ADDRESS, 0)))
        data = os.urandom(MIB)
        got = bytearray()

        def take() -> None:
            connection, _ = listener.accept()
            with connection:
                while piece := connection.recv(1 << 18):
                    got.extend(piece)

        taker = threading.Thread(target=take)
        taker.start()
        with listener, self.within("a", lambda: socket.create_connection(listener.getsockname(), 30)) as client:
            for _ in range(size // MIB):
                client.sendall(data)
            client.shutdown(socket.SHUT_WR)
            taker.join(60)
            info = client.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
        assert bytes(got) == data * (size // MIB)
        words = struct.unpack_from("24I", info, 8)
        return TcpInfo(rtt_us=words[15], retransmitted=words[23])


@pytest.fixture
def wire(tmp_path: Path) -> Iterator[Wire]:
    need("ip"), need("nsenter")
    name = f"sh{os.getpid()}"
    with ExitStack() as made:
        for end in "abm":
            run("ip", "netns", "add", f"{name}{end}")
            made.callback(run, "ip", "netns", "del", f"{name}{end}")
        for end, address in (("a", "192.0.2.1"), ("b", ADDRESS)):
            node, hop = ["ip", "-n", f"{name}{end}"], ["ip", "-n", f"{name}m"]
            run(*hop, "link", "add", "name", f"to-{end}", "type", "veth", "peer", "name", "eth0", "netns", name + end)
            run(*hop, "link", "set", f"to-{end}", "up")
            run(*node, "address", "add", f"{address}/24", "dev", "eth0")
            run(*node, "link", "set", "eth0", "up")
        control = HopControl(tmp_path / "ctl")
        words = [sys.executable, "-m", "strata_lab.parts.hop", "to-a", "to-b", "--ctl", str(control.path)]
        child = made.enter_context(Child(["nsenter", f"--net=/run/netns/{name}m", *words]))
        control.wait(30, alive=lambda: child.returncode is None)
        yield Wire(name, control, child)
        assert child.stop() == 0, child.last_words()
        assert not control.path.exists()


def test_frames_pass_unchanged_and_are_counted(wire: Wire) -> None:
    wire.carry(32 * MIB)
    truth = wire.control.truth()
    assert truth.ab.bytes > 32 * MIB
    for way in (truth.ab, truth.ba):
        assert way.sent == way.frames - way.lost - way.full
        assert way.refused == way.missed == way.waiting_bytes == 0
    # With segmentation offload far fewer frames than packets of 1500 bytes pass.
    assert truth.ab.frames < 32 * MIB / 1500 / 4


def test_delay_is_the_round_trip(wire: Wire) -> None:
    wire.control.set(delay_ab=3000, delay_ba=2000, reset=1)
    began = time.perf_counter()
    seen = wire.carry(MIB)
    assert time.perf_counter() - began >= 0.005
    # At least what was asked for; the smoothing of TCP starts with its first measurement, so it cannot be below.
    assert seen.rtt_us >= 5000
    truth = wire.control.truth()
    assert truth.ab.waiting_max_bytes > 0
    assert truth.model.startswith("seed=0 delay_ab=3000 ")


def test_what_is_lost_is_sent_again(wire: Wire) -> None:
    wire.control.set(delay=500, reset=1)
    whole = wire.carry(16 * MIB)
    assert wire.control.truth().ab.lost == 0
    wire.control.set(loss_ab=50_000, reset=1)
    seen = wire.carry(16 * MIB)
    truth = wire.control.truth()
    assert truth.ab.lost > 0
    assert truth.ba.lost == 0
    assert seen.retransmitted >= truth.ab.lost
    assert seen.retransmitted > whole.retransmitted


def test_overtaking_and_a_full_queue_are_counted(wire: Wire) -> None:
    wire.control.set(delay_ab=1000, reorder_ab=100_000, reset=1)
    wire.carry(8 * MIB)
    assert wire.control.truth().ab.overtook > 0
    wire.control.set(reorder=0, queue_ab="128KiB", reset=1)
    wire.carry(8 * MIB)
    truth = wire.control.truth()
    assert truth.ab.waiting_max_bytes <= 128 << 10
    assert truth.ab.full > 0


def test_parameters_are_set_all_or_none(wire: Wire) -> None:
    before = wire.control.truth().model
    for wrong in ("delay=5 speed=1", "loss=2000000", "delay"):
        with pytest.raises(UsageError):
            wire.control.set(wrong)
    assert wire.control.truth().model == before


def test_what_is_no_hop_is_refused(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    ctl = ["--ctl", str(tmp_path / "ctl")]
    assert main(["no-such-if", "lo", *ctl]) == 1
    assert "no-such-if" in capfd.readouterr().err
    assert main(["lo", "lo", *ctl, "--model", "speed=1"]) == 2
    assert "speed=1" in capfd.readouterr().err
    with pytest.raises(RunFailed):
        HopControl(tmp_path / "ctl").truth()
