"""Which connections are followed: as many as there are at once, however many come and go."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

from strata.model.counters import tcp
from strata.probes import tcp as probed
from strata.probes.port import ProbeScope
from strata.probes.recording import ProbeRecording, Watched
from strata.probes.tcp.diag import ESTABLISHED, Socket

HERE = "10.0.0.2"


@dataclass
class Kernel:
    """Its table of connections, each with the bytes that it has received."""

    table: dict[bytes, tuple[Socket, int]] = field(default_factory=dict)
    made: int = 0

    def connect(self, peer: str = "10.0.0.1", received: int = 0) -> bytes:
        self.made += 1
        key = b"%d" % self.made
        self.table[key] = Socket(key, 2, ESTABLISHED, HERE, 40000 + self.made, peer, 445, self.made), received
        return key

    def receive(self, key: bytes, size: int) -> None:
        one, received = self.table[key]
        self.table[key] = one, received + size


class Always:
    due = True

    @contextmanager
    def timed(self) -> Iterator[None]:
        yield


class Silent:
    def __init__(self, *_: object) -> None: ...

    def close(self) -> None: ...


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> Kernel:
    made = Kernel()

    def told(_: object, one: Socket) -> dict[str, int] | None:
        return {"received_bytes": made.table[one.key][1], "rtt_us": 50} if one.key in made.table else None

    monkeypatch.setattr(probed, "Netlink", Silent)
    monkeypatch.setattr(probed, "sockets", lambda *_: [one for one, _ in made.table.values()])
    monkeypatch.setattr(
        probed, "sockets_and_info", lambda *_: [(one, {"received_bytes": n}) for one, n in made.table.values()]
    )
    monkeypatch.setattr(probed, "info", told)
    monkeypatch.setattr(probed, "Paced", Always)
    return made


def opened(*ports: int) -> probed.TcpProbe:
    return probed.TcpProbe(ProbeScope(ports=ports))


def received(recording: ProbeRecording) -> dict[tuple[str, str], tuple[float, ...]]:
    """By peer and number of the connection."""
    series = [one for one in recording.taken(0) if one.metric == tcp.RECEIVED.name]
    return {(one.labels["peer"], one.labels["connection"]): one.values for one in series}


def test_more_connections_than_are_followed_at_once_come_and_go_and_each_is_seen(kernel: Kernel) -> None:
    """Of one service each goes on where the one before it ended, so that what they moved adds up."""
    probe = opened(445)
    recording = ProbeRecording(None)
    recording.watched.append(Watched(probe))
    stays = kernel.connect(received=7)
    for _ in range(3 * probed.MOST):
        key = kernel.connect(received=1000)
        recording.sample()
        kernel.receive(key, 10)
        kernel.receive(stays, 1)
        recording.sample()
        del kernel.table[key]
        recording.sample()
    told = received(recording)
    assert set(told) == {("10.0.0.1:445", "0"), ("10.0.0.1:445", "1")}
    first, others = told["10.0.0.1:445", "0"], told["10.0.0.1:445", "1"]
    assert first[-1] - first[0] == 3 * probed.MOST
    assert others[-1] - others[0] == 10 * 3 * probed.MOST and list(others) == sorted(others)
    assert len(probe.columns) < 3 * 2 * len(probed._FIELDS)


def test_services_that_are_gone_make_room_once_their_samples_are_taken(kernel: Kernel) -> None:
    probe = opened(445)
    recording = ProbeRecording(None)
    recording.watched.append(Watched(probe))
    stays = kernel.connect("10.9.9.9", received=5)
    most = 0
    for number in range(4 * probed.MOST):
        key = kernel.connect(f"10.0.{number // 250}.{number % 250}")
        recording.sample()
        kernel.receive(key, 3)
        kernel.receive(stays, 1)
        recording.sample()
        del kernel.table[key]
        recording.sample()
        told = received(recording)
        assert told[f"10.0.{number // 250}.{number % 250}:445", "0"][-1] == 3, "a new one is always seen"
        stayed = told["10.9.9.9:445", "0"]
        assert (stayed[0], stayed[-1]) == (5 + number, 6 + number), "its columns are still its own"
        most = max(most, len(probe.columns))
    assert most <= len(probed._FIELDS) * probed.MOST + len(probed._SEGMENTS)


def test_there_is_a_most_of_those_that_are_there_at_once(kernel: Kernel) -> None:
    probe = opened(445)
    for _ in range(2 * probed.MOST):
        kernel.connect()
    probe.read()
    assert len(probe._places) == probed.MOST and not probe.forget()


def test_of_a_node_only_connections_that_are_there_are_remembered(kernel: Kernel) -> None:
    probe = opened(1)
    probe._of_node = True
    for _ in range(300):
        key = kernel.connect()
        probe.read()
        del kernel.table[key]
    assert len(probe._others) == 1 and not probe._places
