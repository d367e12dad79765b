"""A cluster of real processes on loopback: what is asked is done on the node that was meant, and told as it goes."""

from __future__ import annotations

import signal
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import fleet_calls
import pytest
from fleet_peers import Running, cluster, ended, said, started

from strata import __version__
from strata.errors import RunFailed, SafetyRefusal
from strata.fleet import Call, Cluster, Lost, NodeLost, calling
from strata.fleet.call import packed


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with cluster(tmp_path_factory.mktemp("cluster"), ["n1", "n2", "n3"]) as made:
        yield made


@pytest.fixture
def connected(running: Running) -> Iterator[Cluster]:
    with Cluster.connect(running.address) as made:
        yield made


def test_nodes_say_who_they_are(running: Running, connected: Cluster) -> None:
    nodes = connected.nodes()
    assert [node.name for node in nodes] == ["n1", "n2", "n3"]
    assert [node.pid for node in nodes] == [running.nodes[node.name].pid for node in nodes]
    assert {node.version for node in nodes} == {__version__}
    assert all(node.cores >= 1 and abs(node.joined_unix_ns - time.time_ns()) < 10**11 for node in nodes)


def test_one_node_is_asked(connected: Cluster) -> None:
    assert connected.ask("n2", fleet_calls.add, 2, 3) == 5
    with pytest.raises(SafetyRefusal, match="will not write to /dev/sda: it is not Strata's") as refused:
        connected.ask("n2", fleet_calls.refuses)
    assert refused.value.hint == "choose another"
    with pytest.raises(RunFailed, match="ZeroDivisionError: here"):
        connected.ask("n2", fleet_calls.breaks)
    with pytest.raises(NodeLost, match="there is no node of that name"):
        connected.ask("n9", fleet_calls.add, 2, 3)
    with pytest.raises(NodeLost, match=r"no result within 0\.5 s"):
        connected.ask("n2", fleet_calls.load, 30.0, deadline_s=0.5)


class Counting:
    """The real client of a scheduler, and the most calls that were handed to it without an outcome."""

    def __init__(self, client: Any) -> None:
        self._client, self._futures = client, []  # type: ignore[var-annotated]
        self.most = self.handed = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def get(self, *args: Any, **named: Any) -> Any:
        given = self._client.get(*args, **named)
        self._futures += given
        self.handed += len(given)
        self.most = max(self.most, sum(not f.done() for f in self._futures))
        return given


def test_of_many_calls_so_many_are_in_flight_and_no_more(connected: Cluster) -> None:
    """200 calls on three nodes; a scheduler does not care whether each is another node's."""
    addresses = [node.address for node in connected.nodes()]
    asked = {f"c{n}": (addresses[n % 3], packed(Call.of(fleet_calls.add, n, 1))) for n in range(200)}
    counting = Counting(connected._client)
    given = connected._background.run(
        calling.carry(counting, uuid.uuid4().hex, asked, 60.0, lambda *_: None, once=False)
    )
    # A node has one call of a plan at a time; here it has several, and some of them end by that.
    assert given.keys() == asked.keys()
    assert counting.handed == 200 and counting.most == calling.ASKED_AT_ONCE == 64


def test_a_result_has_a_bound(connected: Cluster) -> None:
    assert len(connected.ask("n1", fleet_calls.big, 1 << 20)) == 1 << 20
    with pytest.raises(RunFailed, match="more than the limit of 64 MiB"):
        connected.ask("n1", fleet_calls.big, 65 << 20)


def test_only_functions_that_have_a_name_travel() -> None:
    for function in (lambda: 1, test_only_functions_that_have_a_name_travel.__get__(1)):
        with pytest.raises(TypeError, match="nodes carry out functions of modules"):
            Call.of(function)


def test_all_at_once_and_told_as_they_go(connected: Cluster) -> None:
    told: list[tuple[str, int]] = []
    began = time.monotonic()
    calls = {name: Call.of(fleet_calls.load, seconds) for name, seconds in (("n1", 2.5), ("n2", 1.5), ("n3", 1.5))}
    found = connected.at_once(
        {**calls, "n9": Call.of(fleet_calls.load, 1.0)},
        20,
        lambda node, message: told.append((node, message["second"])),
    )
    assert time.monotonic() - began < 5
    assert found.pop("n9") == Lost(node="n9", why="there is no node of that name")
    assert [found[name][0] for name in sorted(found)] == ["n1", "n2", "n3"]
    # In order for each node, and while they run.
    assert sorted(told) == [("n1", 0), ("n1", 1), ("n1", 2), ("n2", 0), ("n2", 1), ("n3", 0), ("n3", 1)]
    assert [second for node, second in told if node == "n1"] == [0, 1, 2]


def test_a_node_answers_while_it_carries_out_a_load(running: Running, connected: Cluster) -> None:
    loads = {"n1": Call.of(fleet_calls.load, 4.0)}
    results: list[object] = []
    thread = threading.Thread(target=lambda: results.append(connected.at_once(loads, 20)))
    thread.start()
    time.sleep(1)
    with Cluster.connect(running.address) as other:
        assert other.ask("n1", fleet_calls.add, 1, 1) == 2
        assert other.clock("n1").round_trip_ns > 0
        assert not results, "the load goes on"
    thread.join()
    assert results[0]["n1"][0] == "n1"  # type: ignore[index]


def test_a_call_ends_itself_once_nobody_waits_for_it(running: Running) -> None:
    other = Cluster.connect(running.address)
    ended_file = running.state_of("n3") / "ended"
    ended_file.unlink(missing_ok=True)
    loads = {"n3": Call.of(fleet_calls.load, 60.0)}

    def ask() -> None:
        with suppress(BaseException):
            other.at_once(loads, 90)

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    time.sleep(1.5)
    other.close()
    thread.join(10)
    assert not thread.is_alive()
    until = time.monotonic() + 20
    while not ended_file.exists() and time.monotonic() < until:
        time.sleep(0.1)
    spent, alive, cancelled = ended_file.read_text().split()
    assert float(spent) < 22
    assert (alive, cancelled) == ("True", "True")


def test_messages_have_a_bound(connected: Cluster) -> None:
    told: list[int] = []
    found = connected.at_once(
        {"n1": Call.of(fleet_calls.flood, 10_000)}, 20, lambda _, message: told.append(message["n"])
    )
    sent, took = found["n1"]  # type: ignore[misc]
    assert sent == len(told)
    assert 40 <= sent <= 41 + 20 * took


def test_the_clocks_of_one_machine_are_one_clock(connected: Cluster) -> None:
    """Both read the same clock, so the offset is the error, and the bound must hold it."""
    for _ in range(5):
        clock = connected.clock("n1")
        assert abs(clock.offset_ns) <= clock.bound_ns
        assert clock.bound_ns == (clock.round_trip_ns + 1) // 2
        assert clock.bound_ns < 250_000_000


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_node_ends_at_a_signal_and_leaves_nothing(running: Running, tmp_path: Path, number: int, code: int) -> None:
    node = started(["join", running.address, "--name", "leaver"], tmp_path / "leaver")
    said(node, "has joined")
    with Cluster.connect(running.address) as connected:
        assert "leaver" in [n.name for n in connected.nodes()]
        node.send_signal(number)
        assert ended(node)[0] == code
        assert "leaver" not in [n.name for n in connected.nodes()]
    assert [p for p in (tmp_path / "leaver" / "strata").rglob("*") if p.is_file()] == []


def test_a_name_is_taken_once(running: Running, tmp_path: Path) -> None:
    # Another state folder, as on another machine; and the same one.
    code, err = ended(started(["join", running.address, "--name", "n1"], tmp_path / "other"))
    assert (code, "a node of that name has joined already" in err) == (1, True), err
    code, err = ended(started(["join", running.address, "--name", "n1"], running.folder / "n1"))
    assert (code, f"process {running.nodes['n1'].pid} already runs this node" in err) == (1, True), err


def test_a_node_waits_for_its_scheduler_by_a_file(tmp_path: Path) -> None:
    file = tmp_path / "scheduler.json"
    node = started(["join", "--scheduler-file", file, "--name", "early"], tmp_path / "early")
    time.sleep(1)
    scheduler = started(["serve", "--listen", "tcp://127.0.0.1:0", "--scheduler-file", file], tmp_path / "scheduler")
    try:
        said(node, "has joined")
        node.terminate()
        assert ended(node)[0] == 143
    finally:
        scheduler.terminate()
        assert ended(scheduler)[0] == 143
    assert not file.exists()
