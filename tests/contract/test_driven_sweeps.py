"""Sweeps and matrices of a stack whose layers are driven from their nodes: real node processes on the loopback."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from commands import started, strata
from driven import descriptors, left_idle, loads, spent, stack, swept, two_nodes, until, users_volume
from fleet_peers import Running
from users_file import served

from strata.host.mark import MARK_BYTES


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with two_nodes(tmp_path_factory.mktemp("driven")) as running:
        yield running


@pytest.fixture
def nodes(shared: Running) -> Iterator[Running]:
    """The nodes of all tests that leave them as they were: they drive one run after the other."""
    with left_idle(shared) as running:
        yield running


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return users_volume(tmp_path)


@pytest.fixture
def share(data: Path) -> Iterator[str]:
    with served(data, direct=False) as uri:
        yield uri


SWEPT = {
    "iodepth": (("--points", "1,2"), 6),
    "threads": (("--points", "1,2"), 6),
    "clients": (("--points", "1,2"), 6),
    "bs": (("--points", "4k,16k"), 6),
    "connections": (("--points", "1,2", "--iodepth", "4"), 4),
    "cores": (("--points", "1,2", "--numjobs", "2"), 6),
}
"""By axis, with the points of all layers: no connections lead to a file."""
TIERS = {"iodepth": pytest.mark.ci, "clients": pytest.mark.ci}


@pytest.mark.parametrize("axis", [pytest.param(axis, marks=TIERS.get(axis, pytest.mark.slow)) for axis in SWEPT])
def test_the_points_of_a_sweep_are_driven_by_the_nodes_of_their_layers(
    tmp_path: Path, nodes: Running, data: Path, share: str, axis: str
) -> None:
    words, many = SWEPT[axis]
    file, by = stack(tmp_path, nodes, data, share), ()
    if axis == "clients":
        # A scheduler that is given drives the layers, too.
        file.write_text(file.read_text().replace(f'scheduler = "{nodes.address}"\n', ""))
        by = ("--nodes", nodes.address)
    before = {name: spent(node.pid, children=True) for name, node in nodes.nodes.items()}
    # Where a disk stands still for a while, some point has its rounds only the next time.
    for _ in range(3):
        found = swept(file, "--over", axis, *words, *by)
        points = found["points"]
        if all(p["iops"]["value"] > 0 and p["rounds"] >= 3 for p in points):
            break
    assert len(points) == many
    assert {p["layer"] for p in points} >= {"share", "own share"}
    assert all(p["iops"]["value"] > 0 and p["rounds"] >= 3 for p in points)
    assert all(spent(node.pid, children=True) - before[name] > 0.05 for name, node in nodes.nodes.items())
    (said,) = found["remarks"]
    assert "its own node: n1, n2" in said
    # The server of its own tells its times, on the node that started it.
    assert {p["layer"] for p in points if "90.server" in p["latency_ns"]} == {"own share"}
    assert data.exists() and not descriptors(nodes, data)


@pytest.mark.ci
def test_a_sweep_from_nodes_writes_to_the_marked_file_alone_and_goes_on_there(
    tmp_path: Path, nodes: Running, data: Path, share: str
) -> None:
    words, store = stack(tmp_path, nodes, data, share), f"sqlite:///{tmp_path / 's.db'}"
    argv = ["scale", str(words), "--rw", "randwrite", "--points", "1,2,4", "--budget", "9s", "--no-open-loop"]
    argv += ["--buffered", "--progress", "none", "--store", store, "--until", "0.1%"]
    running = started(*argv)
    until(lambda: loads(nodes.nodes["n2"].pid), 60, "a load on n2")
    time.sleep(2)
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=60)
    assert running.returncode == 130 and "strata scale --resume" in said
    assert not descriptors(nodes, data)
    words.unlink()
    done = strata("scale", "--resume", "--json", "--progress", "none", "--store", store)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert len(found["points"]) >= 9 and all(p["iops"]["value"] > 0 for p in found["points"])
    # What is no test file of this run any more is not written to, by whichever node.
    stack(tmp_path, nodes, data, share)
    running = started(*argv)
    until(lambda: loads(nodes.nodes["n2"].pid), 60, "a load on n2 again")
    with data.open("r+b") as file:
        file.write(bytes(MARK_BYTES))
    _, said = running.communicate(timeout=60)
    assert running.returncode == 5, said


def test_axes_that_a_stack_with_nodes_does_not_have_are_refused(
    tmp_path: Path, nodes: Running, data: Path, share: str
) -> None:
    words = stack(tmp_path, nodes, data, share)
    done = strata("scale", words, "--over", "nodes", "--points", "1,2")
    assert done.returncode == 2 and "each of its layers has one node" in done.stderr
    done = strata("scale", words, "--over", "cores", "--points", "1,200", "--numjobs", "200", "--progress", "none")
    assert done.returncode == 2 and "its load runs on n1 and may use" in done.stderr
    done = strata("scale", words, "--over", "cores", "--numjobs", "2")
    assert done.returncode == 2 and "its largest value is not known" in done.stderr
    assert not descriptors(nodes, data)


@pytest.mark.ci
def test_a_matrix_is_driven_from_the_nodes_and_goes_on_there(
    tmp_path: Path, nodes: Running, data: Path, share: str
) -> None:
    words, store = stack(tmp_path, nodes, data, share), f"sqlite:///{tmp_path / 's.db'}"
    asked = ("--matrix", "bs=8k;iodepth=1,2;rw=randread", "--budget", "8s", "--buffered")
    planned = strata("plan", words, *asked, "--json", "--store", store)
    assert planned.returncode == 0, planned.stderr
    assert len(json.loads(planned.stdout)["plan"]["cells"]) == 6
    before = {name: spent(node.pid) for name, node in nodes.nodes.items()}
    done = strata("measure", words, *asked, "--json", "--progress", "none", "--store", store)
    assert done.returncode == 0, done.stderr
    cells = json.loads(done.stdout)["cells"]
    assert len(cells) == 6
    assert {c["layer"] for c in cells if c["iops"]} == {"file", "share", "own share"}
    assert all(spent(node.pid) > before[name] for name, node in nodes.nodes.items())
    assert not descriptors(nodes, data)
    # Interrupted, it goes on with the same nodes.
    argv = ["measure", str(words), *asked[:3], "30s", "--buffered", "--progress", "none", "--store", store]
    running = started(*argv)
    until(lambda: loads(nodes.nodes["n1"].pid), 30, "a load on n1")
    time.sleep(1)
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=60)
    assert running.returncode == 130, said
    assert not descriptors(nodes, data)
    words.unlink()
    more = started("measure", "--resume", "--progress", "none", "--store", store)
    until(lambda: loads(nodes.nodes["n1"].pid), 30, "a load on n1 again")
    more.send_signal(signal.SIGINT)
    _, said = more.communicate(timeout=60)
    assert more.returncode == 130, said
