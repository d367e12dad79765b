"""Nodes that are lost in mid-call: each is named within 15 s, the others' results come back, and all processes end."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import fleet_calls
import pytest
from fleet_peers import BOUND_S, Running, cluster, ended
from loops import need, run
from namespaces import inside, star

from strata.fleet import Call, Cluster, Lost

FOUR = ["n1", "n2", "n3", "n4"]


@dataclass
class Watched:
    """What a call of `at_once` gave, and when each message came."""

    given: dict[str, object] = field(default_factory=dict)
    ended_at: float = 0.0
    told: list[tuple[str, float]] = field(default_factory=list)


def at_once_while(
    cluster: Cluster, calls: dict[str, Call[object]], deadline_s: float, happens: Callable[[], None]
) -> tuple[Watched, float]:
    """Has ``happens`` happen once every node has told something; when it happened."""
    watched = Watched()

    def ask() -> None:
        watched.given = cluster.at_once(
            calls, deadline_s, lambda node, _: watched.told.append((node, time.monotonic()))
        )  # type: ignore[assignment]
        watched.ended_at = time.monotonic()

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    until = time.monotonic() + 30
    while {node for node, _ in watched.told} < set(calls) and time.monotonic() < until:
        time.sleep(0.05)
    assert {node for node, _ in watched.told} == set(calls)
    at = time.monotonic()
    happens()
    thread.join(deadline_s + BOUND_S)
    assert not thread.is_alive()
    return watched, at


def all_load(seconds: float) -> dict[str, Call[object]]:
    """The same load for all."""
    return {name: Call.of(fleet_calls.load, seconds) for name in FOUR}


def survived(watched: Watched, *lost: str) -> None:
    """The others' results are there and whole."""
    for name in set(FOUR) - set(lost):
        found = watched.given[name]
        assert isinstance(found, tuple), found
        assert found[0] == name


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    with cluster(tmp_path, FOUR) as made:
        yield made


def test_one_that_is_killed(running: Running) -> None:
    with Cluster.connect(running.address) as connected:
        calls = all_load(4.0)
        watched, at = at_once_while(connected, calls, 60, running.nodes["n2"].kill)
        assert watched.given["n2"] == Lost(
            node="n2", why="it died, hangs or is disconnected: its scheduler gets no messages from it"
        )
        survived(watched, "n2")
        # The connection closes as the process ends: nobody waits for more than the others' loads.
        assert watched.ended_at - at < 8
        assert [node.name for node in connected.nodes()] == ["n1", "n3", "n4"]
    assert ended(running.nodes["n2"])[0] == -signal.SIGKILL


def test_one_that_stands_still(running: Running) -> None:
    with Cluster.connect(running.address) as connected:

        def stop() -> None:
            running.nodes["n3"].send_signal(signal.SIGSTOP)

        watched, at = at_once_while(connected, all_load(3.0), 60, stop)
        assert isinstance(watched.given["n3"], Lost)
        assert "hangs" in watched.given["n3"].why
        survived(watched, "n3")
        assert watched.ended_at - at < BOUND_S
        running.nodes["n3"].send_signal(signal.SIGCONT)
        # It finds that it was given up, and ends.
        code, err = ended(running.nodes["n3"], 30)
        assert code == 1
        assert "is gone" in err
        assert len(connected.at_once({n: Call.of(fleet_calls.load, 0.2) for n in ("n1", "n2", "n4")}, 20)) == 3


@pytest.mark.ci
def test_one_that_hangs_in_its_call(running: Running) -> None:
    """Its process is well and its scheduler hears from it: its deadline is what tells."""
    with Cluster.connect(running.address) as connected:
        calls = {**all_load(1.0), "n1": Call.of(fleet_calls.deaf, 20.0)}
        began = time.monotonic()
        given = connected.at_once(calls, 4.0)
        assert 4.0 <= time.monotonic() - began < 8
        assert given["n1"] == Lost(node="n1", why="it gave no result within 4 s")
        survived(Watched(given), "n1")
        assert (running.state_of("n1") / "deaf").exists()
    # A call that nobody can end does not keep its node: it goes with the process.
    running.nodes["n1"].terminate()
    began = time.monotonic()
    assert ended(running.nodes["n1"])[0] == 143
    assert time.monotonic() - began < 12


def test_the_scheduler_is_killed(running: Running) -> None:
    with Cluster.connect(running.address) as connected:
        watched, at = at_once_while(connected, all_load(60.0), 90, running.scheduler.kill)
        assert {name: type(found) for name, found in watched.given.items()} == dict.fromkeys(FOUR, Lost)
        assert watched.ended_at - at < BOUND_S
    for name in FOUR:
        code, err = ended(running.nodes[name], 20)
        assert code == 1, err
        assert f"the scheduler of node {name} is gone" in err
        spent, alive, _ = (running.state_of(name) / "ended").read_text().split()
        assert float(spent) < 60
        assert alive == "False"


@pytest.mark.ci
@pytest.mark.first
def test_the_scheduler_stands_still(running: Running) -> None:
    """No connection closes: the calls end themselves by the heartbeats that are not answered."""
    with Cluster.connect(running.address) as connected:
        watched, at = at_once_while(
            connected, all_load(60.0), 90, lambda: running.scheduler.send_signal(signal.SIGSTOP)
        )
        assert {type(found) for found in watched.given.values()} == {Lost}
        assert watched.ended_at - at < BOUND_S
        until = at + BOUND_S
        files = [running.state_of(name) / "ended" for name in FOUR]
        while not all(f.exists() for f in files) and time.monotonic() < until:
            time.sleep(0.1)
        assert all(f.read_text().split()[1] == "False" for f in files)


@pytest.mark.ci
@pytest.mark.first
def test_a_scheduler_that_stood_still_loses_no_node_for_it(running: Running) -> None:
    """It has not read their heartbeats: those of 12 s are in its sockets when it goes on."""
    running.scheduler.send_signal(signal.SIGSTOP)
    time.sleep(12)
    running.scheduler.send_signal(signal.SIGCONT)
    until = time.monotonic() + 6
    while time.monotonic() < until:
        assert all(node.poll() is None for node in running.nodes.values())
        time.sleep(0.1)
    with Cluster.connect(running.address) as connected:
        assert [node.name for node in connected.nodes()] == FOUR
        assert connected.ask("n1", fleet_calls.add, 1, 2) == 3


@pytest.mark.ci
@pytest.mark.first
@pytest.mark.root
def test_one_whose_link_is_cut(tmp_path: Path) -> None:
    """Nodes in namespaces, joined over their wires; the cluster is asked from outside through the hub's namespace."""
    with star(FOUR) as spaces:
        apart = {name: inside(spaces[name]) for name in FOUR}
        words = inside(spaces["hub"])
        with cluster(tmp_path, FOUR, "tcp://10.213.8.1:8786", inside=words, apart=apart) as made:
            with Cluster.connect(made.address, netns=spaces["hub"]) as connected:
                assert connected.ask("n4", fleet_calls.network) != connected.ask("n3", fleet_calls.network)

                def cut() -> None:
                    run(need("ip"), "-n", Path(spaces["n4"]).name, "link", "set", "wire", "down")

                watched, at = at_once_while(connected, all_load(3.0), 60, cut)
                assert isinstance(watched.given["n4"], Lost)
                survived(watched, "n4")
                assert watched.ended_at - at < BOUND_S
            # The node finds out by itself, and ends its load and itself.
            code, err = ended(made.nodes["n4"], 30)
            assert code == 1
            assert "the scheduler of node n4 is gone" in err
