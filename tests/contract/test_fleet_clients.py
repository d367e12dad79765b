"""Clients on the nodes of a cluster: real node processes on the loopback, one of them killed, the scheduler gone."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from fleetbench import nodes as fleet

from strata.engine.job import Timing
from strata.engine.port import Request
from strata.errors import RunFailed
from strata.fleet import Cluster
from strata.fleet.clients import NodesEngine
from strata.host import testfile
from strata.model.clients import clients_of
from strata.model.endpoint import Endpoint
from strata.model.plan import Segment
from strata.model.result import Interval
from strata.plan.words import workload_from_words

MIB = 1 << 20
RATE = 200.0


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Cluster, dict[str, Any]]]:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(fleet.__file__).parents[1]), *sys.path]))
    with fleet.nodes(3, tmp_path) as (address, processes), Cluster.connect(address) as made:
        yield made, processes


def request(seconds: float, rw: str = "randread", endpoint: Endpoint | None = None, size: int = 64 * MIB) -> Request:
    workload = workload_from_words(rw, clients=3, rate_iops=3 * RATE, iodepth=4, direct=False)
    return Request(
        endpoint=endpoint or Endpoint.parse("null:"),
        workload=workload,
        segments=(Segment(start=MIB, length=size - MIB, target=MIB),),
        timing=Timing(ramp_s=0.5, runtime_s=seconds, interval_s=0.5),
    )


@pytest.mark.ci
def test_nodes_measure_together_what_carries_the_mark(cluster: tuple[Cluster, Any], tmp_path: Path) -> None:
    engine = NodesEngine(cluster[0])
    seen: list[Interval] = []
    with testfile.new(tmp_path / "data", 64 * MIB) as held:
        where = Endpoint.parse(f"file:{held.path}").beside(held.fd)
        result = engine.run(request(2.0, "randwrite", where), seen.append)
        read = engine.run(request(0.5, "randread", where))
        held.remove()
    found = clients_of(result)
    assert found is not None and found.together is not None and found.start_skew is not None
    assert [(c.client, c.node) for c in found.each] == [(0, "node-0"), (1, "node-1"), (2, "node-2")]
    assert result.write.ops == sum(c.result.write.ops for c in result.clients) > 0
    assert read.read.ops == sum(c.result.read.ops for c in read.clients) > 0
    # Of each its share; what a standstill moves across an end of 2 s is less.
    assert result.iops == pytest.approx(3 * RATE, rel=0.25)
    # One machine has one clock: the offsets that were read are nothing but their error.
    assert all(abs(c.offset_ns) <= c.bound_ns for c in result.clients)
    assert found.start_skew.ns < 500_000_000
    assert seen and [now.node for now in seen[0].clients] == ["node-0", "node-1", "node-2"]
    assert all(now.p99_ns and now.node_p99_ns for now in seen[0].clients)


@pytest.mark.ci
def test_a_node_that_is_killed_is_lost_and_the_others_are_valid(cluster: tuple[Cluster, Any]) -> None:
    made, processes = cluster
    killed: list[float] = []

    def kill(_: Interval) -> None:
        if not killed:
            processes["node-1"].kill()
            killed.append(time.monotonic())

    result = NodesEngine(made).run(request(4.0), kill)
    assert time.monotonic() - killed[0] < 4 + 15
    found = clients_of(result)
    assert found is not None and found.together is not None
    assert [one.node for one in found.lost] == ["node-1"] and found.together.clients == (0, 2)
    assert result.iops == pytest.approx(2 * RATE, rel=0.2)
    assert found.before_loss is not None and len(found.before_loss.clients) == 3


@pytest.mark.ci
def test_a_stop_reaches_the_nodes(cluster: tuple[Cluster, Any]) -> None:
    began = time.monotonic()
    result = NodesEngine(cluster[0]).run(request(120.0), None, lambda: time.monotonic() - began > 3)
    assert time.monotonic() - began < 60
    assert result.stop_reason == "stopped" and len(result.clients) == 3


@pytest.mark.ci
def test_a_stopped_scheduler_ends_the_load_of_its_nodes(cluster: tuple[Cluster, Any]) -> None:
    """The load of each node ends within 10 s of the scheduler's last moment, seen by the nodes' load threads."""
    made, processes = cluster
    stopped: list[float] = []
    ended: list[float] = []

    def watch() -> None:
        while time.monotonic() < stopped[0] + 25 and any(_loads(p.pid) for p in processes.values()):
            time.sleep(0.05)
        ended.append(time.monotonic())

    watching = threading.Thread(target=watch)

    def stop(_: Interval) -> None:
        if not stopped:
            assert all(_loads(p.pid) for p in processes.values())
            os.kill(_scheduler(), signal.SIGSTOP)
            stopped.append(time.monotonic())
            watching.start()

    try:
        with pytest.raises(RunFailed, match="no client measured"):
            NodesEngine(made).run(request(120.0), stop)
        watching.join(30)
        took_s = ended[0] - stopped[0]
        assert took_s < 10, f"the load had ended {took_s:.1f} s after the scheduler stopped"
    finally:
        os.kill(_scheduler(), signal.SIGCONT)


def _scheduler() -> int:
    """Our child that is the scheduler."""
    for task in Path("/proc/self/task").iterdir():
        for pid in (task / "children").read_text().split():
            if b"fleetbench.nodes\0scheduler" in Path(f"/proc/{pid}/cmdline").read_bytes():
                return int(pid)
    raise AssertionError("no scheduler")


def _loads(pid: int) -> bool:
    """Whether it has a load thread."""
    tasks = Path(f"/proc/{pid}/task")
    names = []
    with suppress(FileNotFoundError):  # the process has ended
        for task in list(tasks.iterdir()):
            with suppress(FileNotFoundError, ProcessLookupError):  # the thread has, meanwhile
                names.append((task / "comm").read_text().strip())
    return "strata-0" in names
