"""A stack whose layers are driven from their nodes: real node processes on the loopback."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from commands import started, strata
from driven import (
    STACK,
    descriptors,
    fios,
    left_idle,
    loads,
    options,
    quiet,
    spent,
    stack,
    two_nodes,
    until,
    users_volume,
)
from fleet_peers import Running, cluster
from loops import MIB, need
from users_file import SIZE, served

from strata.app.diagnose import diagnose_path
from strata.app.survey import compare_surveys
from strata.engine import Backing, TargetConfig, TargetProcess
from strata.errors import RunFailed, SafetyRefusal, UsageError
from strata.host import testfile
from strata.model.counters import net
from strata.model.progress import Progress
from strata.model.survey_compared import Agreement
from strata.report.terminal import render


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
def own_nodes(tmp_path: Path) -> Iterator[Running]:
    """Nodes and a scheduler of a test that ends one of them."""
    with two_nodes(tmp_path) as running:
        yield running


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return users_volume(tmp_path)


@pytest.fixture
def share(data: Path) -> Iterator[str]:
    with served(data, direct=False) as uri:
        yield uri


def test_each_layer_is_driven_by_the_process_of_its_node(
    tmp_path: Path, nodes: Running, data: Path, share: str
) -> None:
    before = {name: spent(p.pid) for name, p in nodes.nodes.items()}
    # A disk may stand still for as long as a cell is measured, and then a cell has no result.
    for _ in range(3):
        report = diagnose_path(stack(tmp_path, nodes, data, share), options(tmp_path, "randread", "randwrite"), quiet)
        if not any(c.error and "no I/O completed" in c.error for c in report.results):
            break
    used = {name: spent(p.pid) - before[name] for name, p in nodes.nodes.items()}
    assert {c.layer for c in report.results if c.result is not None and c.result.ops} == {"file", "share", "own share"}
    assert not [c.error for c in report.results if c.error]
    # A process that issues I/O for most of a second altogether has used some of it.
    assert used["n1"] > 0.05 and used["n2"] > 0.05
    run = report.run
    assert run.data is not None and run.data.path == str(data)
    assert "its own node: n1, n2" in (run.message or "")
    assert set(run.data.identity) == {"file", "share", "own share"}
    assert [r.layer for r in run.remotes] == ["share", "own share"]
    # The other node's counters stand beside, under its name, on the same clock.
    for cell in report.results:
        assert cell.result is not None
        start = cell.result.started_unix_ns + cell.result.ramp_ns
        spans = {s.labels.get("node"): (s.t_ns[0], s.t_ns[-1]) for s in cell.counters if s.metric == net.BYTES.name}
        for node in ("n1", "n2"):
            first, last = spans[node]
            assert first <= start and start + cell.result.measured_ns <= last
        # One machine has one set of CPUs, whoever reads them.
        cpus = [s for s in cell.counters if s.metric == "cpu_seconds"]
        assert cpus and all("node" not in s.labels for s in cpus)
    # What was the user's stays; what the run made is gone.
    assert data.exists() and not descriptors(nodes, data)


def test_a_file_that_a_node_made_is_removed_by_it_also_when_the_session_is_killed(
    tmp_path: Path, nodes: Running
) -> None:
    path = tmp_path / "fresh.dat"
    words = tmp_path / "stack.toml"
    text = STACK[: STACK.index('[[layer]]\nname = "share"')]
    words.write_text(text.format(address=nodes.address, path=path))
    argv = ["measure", str(words), "--rw", "randread", "--buffered", "--runtime", "30s", "--size", "16m"]
    argv += ["--rounds", "2", "--progress", "none", "--store", f"sqlite:///{tmp_path / 's.db'}"]
    session = started(*argv)
    try:
        until(lambda: path.exists() and loads(nodes.nodes["n1"].pid), 60, "the load began")
        session.kill()
        until(lambda: not loads(nodes.nodes["n1"].pid) and not path.exists(), 20, "the node ended it")
    finally:
        session.kill()
        session.communicate()
    # It is ready for the next run.
    report = diagnose_path(words, options(tmp_path, size=SIZE), quiet)
    assert report.results and not path.exists()


def test_a_scheduler_that_is_gone_ends_load_and_file(tmp_path: Path, own_nodes: Running) -> None:
    path = tmp_path / "fresh.dat"
    words = tmp_path / "stack.toml"
    words.write_text(STACK[: STACK.index('[[layer]]\nname = "share"')].format(address=own_nodes.address, path=path))
    said: list[BaseException] = []

    def measure() -> None:
        try:
            diagnose_path(words, options(tmp_path, runtime_s=60.0, size=SIZE), quiet)
        except BaseException as e:
            said.append(e)

    measuring = threading.Thread(target=measure)
    measuring.start()
    until(lambda: path.exists() and loads(own_nodes.nodes["n1"].pid), 60, "the load began")
    os.kill(own_nodes.scheduler.pid, signal.SIGKILL)
    began = time.monotonic()
    until(lambda: not loads(own_nodes.nodes["n1"].pid), 20, "the load ended")
    until(lambda: not path.exists(), 20, "the file was removed")
    assert time.monotonic() - began < 20
    measuring.join(60)
    assert said and isinstance(said[0], RunFailed)


@pytest.mark.ci
def test_a_node_that_dies_costs_its_own_layer(tmp_path: Path, own_nodes: Running, data: Path, share: str) -> None:
    killed: list[float] = []

    def kill(progress: Progress) -> None:
        if not killed and progress.layer == "share" and progress.iops:
            own_nodes.nodes["n2"].kill()
            killed.append(time.monotonic())

    report = diagnose_path(stack(tmp_path, own_nodes, data, share), options(tmp_path, runtime_s=0.5), kill)
    assert time.monotonic() - killed[0] < 30
    good = [c for c in report.results if c.error is None]
    assert {c.layer for c in good} >= {"file", "own share"}
    assert len([c for c in good if c.layer == "file"]) == len([c for c in good if c.layer == "own share"]) == 2
    (first, *_) = [c.error for c in report.results if c.layer == "share" and c.error]
    assert first is not None and "n2" in first
    after = [c for c in good if c.order == max(one.order for one in good)]
    assert "counters of n2: the node is lost" in after[0].absent
    assert data.exists() and not descriptors(own_nodes, data)


def test_what_the_nodes_cannot_do_is_refused_before_anything_is_made(
    tmp_path: Path, nodes: Running, data: Path, share: str
) -> None:
    words = stack(tmp_path, nodes, data, share)
    text = words.read_text()
    words.write_text(text.replace('node = "n2"\n', 'node = "n3"\n').replace('name = "n2"', 'name = "n3"'))
    with pytest.raises(RunFailed, match="no node of that name has joined") as caught:
        diagnose_path(words, options(tmp_path), quiet)
    assert "strata node join" in caught.value.hint
    # A layer whose node is away can be left out.
    assert diagnose_path(words, options(tmp_path, layers=("file",)), quiet).results
    words.write_text(text.replace('on = ["file"]\nendpoint = "nbd://127.0.0.1:0', 'endpoint = "nbd://127.0.0.1:0'))
    words.write_text(words.read_text().replace('name = "own share"\nnode = "n1"', 'name = "own share"\nnode = "n2"'))
    with pytest.raises(UsageError, match="serves the file on its own node"):
        diagnose_path(words, options(tmp_path), quiet)
    words.write_text(text)
    with pytest.raises(UsageError, match="measured from this machine"):
        diagnose_path(tmp_path, options(tmp_path, nodes=nodes.address), quiet)


@pytest.mark.ci
def test_fio_loads_layers_from_their_nodes_and_ends_with_whoever_asked(
    tmp_path: Path, nodes: Running, data: Path, share: str
) -> None:
    need("fio")
    words = stack(tmp_path, nodes, data, share)
    asked = options(tmp_path, "randread", "randwrite", engine="fio", layers=("file",))
    before = spent(nodes.nodes["n1"].pid, children=True)
    report = diagnose_path(words, asked, quiet)
    assert report.run.environment.engine["name"] == "fio"
    assert {c.result.engine["name"] for c in report.results if c.result is not None} == {"fio"}
    assert not [c.error for c in report.results if c.error]
    assert spent(nodes.nodes["n1"].pid, children=True) - before > 0.5, "it is the node that starts it"
    argv = ["measure", str(words), "--rw", "randread", "--buffered", "--runtime", "30s", "--rounds", "2"]
    argv += ["--layers", "file", "--engine", "fio", "--progress", "none", "--store", f"sqlite:///{tmp_path / 's.db'}"]
    session = started(*argv)
    try:
        until(lambda: fios(nodes.nodes["n1"].pid), 60, "fio began")
        session.kill()
        until(lambda: not fios(nodes.nodes["n1"].pid), 20, "the node ended it")
    finally:
        session.kill()
        session.communicate()
    assert data.exists() and not descriptors(nodes, data)


def test_a_file_is_preconditioned_by_the_node_that_writes_to_it(
    tmp_path: Path, nodes: Running, data: Path, share: str
) -> None:
    asked = options(tmp_path, "randwrite").model_copy(update={"precondition_s": 5.0, "precondition_bytes": MIB})
    report = diagnose_path(stack(tmp_path, nodes, data, share), asked, quiet)
    (done,) = report.run.preconditions
    assert done.ended in ("bytes", "steady")
    assert 0 < done.bytes_written <= MIB
    assert not [c.error for c in report.results if c.error and c.layer in ("file", "own share")]
    assert not descriptors(nodes, data)


@pytest.mark.ci
def test_layers_without_a_node_are_driven_from_here(tmp_path: Path, nodes: Running, data: Path, share: str) -> None:
    words = stack(tmp_path, nodes, data, share)
    words.write_text(words.read_text().replace('node = "n1"\n', ""))
    before = spent(nodes.nodes["n2"].pid)
    report = diagnose_path(words, options(tmp_path, "randwrite"), quiet)
    assert {c.layer for c in report.results if c.error is None} == {"file", "share", "own share"}
    assert spent(nodes.nodes["n2"].pid) - before > 0.05
    assert "its own node: n2" in (report.run.message or "")
    assert data.exists() and not descriptors(nodes, data)


def test_a_file_of_others_does_not_say_which_scheduler_without_certificates_is_asked(
    tmp_path: Path, nodes: Running, data: Path, share: str
) -> None:
    words = stack(tmp_path, nodes, data, share)
    words.chmod(0o666)
    with pytest.raises(SafetyRefusal, match="other users can write to the file"):
        diagnose_path(words, options(tmp_path), quiet)
    words.write_text(words.read_text().replace("tcp://", "tls://"))
    # A certificate of our authority is what counts then; here there is none.
    with pytest.raises(RunFailed, match="there is no certificate"):
        diagnose_path(words, options(tmp_path), quiet)


def test_the_nodes_of_a_stack_are_surveyed_and_compared(tmp_path: Path, nodes: Running, data: Path, share: str) -> None:
    words = stack(tmp_path, nodes, data, share)
    found = compare_surveys([words])
    assert [(n.name, n.path) for n in found.nodes] == [("n1", str(data.parent)), ("n2", "/")]
    # One machine: what is of the machine is the same, the file systems may not be.
    same = {field.name for field in found.those(Agreement.SAME)}
    assert "kernel" in same
    with pytest.raises(UsageError, match="the nodes of one stack file"):
        compare_surveys([tmp_path, tmp_path], nodes.address)


@pytest.mark.ci
def test_a_diagnosis_says_before_its_verdict_in_what_its_nodes_differ(tmp_path: Path, data: Path, share: str) -> None:
    with cluster(tmp_path, ["n1", "n2"], apart={"n2": ["taskset", "--cpu-list", "0"]}) as own:
        report = diagnose_path(stack(tmp_path, own, data, share), options(tmp_path, "randread"), quiet)
    assert report.run.nodes is not None
    assert [n.name for n in report.run.nodes.nodes] == ["n1", "n2"]
    assert "CPU: usable" in {field.name for field in report.run.nodes.fields}
    before, _, _ = render(report, 100, False).partition("VERDICT")
    assert "The nodes differ in" in before and "CPU: usable" in before


def test_a_layer_with_other_data_is_refused_on_its_node(tmp_path: Path, nodes: Running, data: Path) -> None:
    other = tmp_path / "other.dat"
    with testfile.new(other, SIZE) as held:
        held.keep()
    with testfile.own(other, lock=False) as held:
        backing = Backing(kind="file", path=str(other), fd=held.fd, read_only=False, direct=False)
        with TargetProcess(TargetConfig(backing=backing, export="other")) as server:
            words = stack(tmp_path, nodes, data, server.uri(1))
            with pytest.raises(SafetyRefusal, match="does not hold the data"):
                diagnose_path(words, options(tmp_path), quiet)
    assert not descriptors(nodes, data)


@pytest.mark.ci
def test_the_command_asks_the_nodes_of_an_address(tmp_path: Path, nodes: Running, data: Path, share: str) -> None:
    words = stack(tmp_path, nodes, data, share)
    words.write_text(words.read_text().replace(f'scheduler = "{nodes.address}"\n', ""))
    argv = ["measure", str(words), "--rw", "randread", "--buffered", "--runtime", "100ms", "--rounds", "1"]
    argv += ["--nodes", nodes.address, "--json", "--progress", "none", "--store", f"sqlite:///{tmp_path / 's.db'}"]
    done = strata(*argv)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["run"]["plan"]["stack"]["scheduler"] == nodes.address
    assert {c["layer"] for c in document["cells"]} == {"file", "share", "own share"}
