"""A stack whose layers are driven from their nodes: real node processes on the loopback."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from commands import started, strata
from fleet_peers import Running, cluster
from loops import need
from namespaces import inside, star
from users_file import SIZE, served, users_file

from strata.app.diagnose import diagnose_path
from strata.app.options import Options
from strata.app.survey import compare_surveys
from strata.engine import Backing, Shaping, TargetConfig, TargetProcess
from strata.errors import RunFailed, SafetyRefusal, UsageError
from strata.host import testfile
from strata.host.mark import MARK_BYTES
from strata.model.counters import net, target
from strata.model.progress import Progress
from strata.model.survey_compared import Agreement
from strata.plan.words import workload_from_words

MIB = 1 << 20
STACK = """
[stack]
name = "driven"
scheduler = "{address}"

[[node]]
name = "n1"
owner = true

[[node]]
name = "n2"

[[layer]]
name = "file"
node = "n1"
endpoint = "file:{path}"

[[layer]]
name = "share"
node = "n2"
on = ["file"]
endpoint = "{share}"

[[layer]]
name = "own share"
node = "n1"
on = ["file"]
endpoint = "nbd://127.0.0.1:0/own"
"""


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with cluster(tmp_path_factory.mktemp("driven"), ["n1", "n2"]) as running:
        yield running


@pytest.fixture
def nodes(shared: Running) -> Iterator[Running]:
    """The nodes of all tests that leave them as they were, which is looked at: they drive one run after the other."""
    yield shared
    assert all(process.poll() is None for process in shared.processes)
    _until(lambda: not any(_loads(node.pid) for node in shared.nodes.values()), 20, "the nodes were idle again")


@pytest.fixture
def own_nodes(tmp_path: Path) -> Iterator[Running]:
    """Nodes and a scheduler of a test that ends one of them."""
    with cluster(tmp_path, ["n1", "n2"]) as running:
        yield running


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The user's own test file, on n1's machine."""
    path = tmp_path / "volume" / "strata.dat"
    path.parent.mkdir()
    return users_file(path)


@pytest.fixture
def share(data: Path) -> Iterator[str]:
    with served(data, direct=False) as uri:
        yield uri


def stack(folder: Path, nodes: Running, data: Path, share: str) -> Path:
    path = folder / "stack.toml"
    path.write_text(STACK.format(address=nodes.address, path=data, share=share))
    return path


def options(folder: Path, *rw: str, **more: Any) -> Options:
    only = tuple(workload_from_words(one, iodepth=2, direct=False) for one in rw or ("randread",))
    chosen: dict[str, Any] = {"rounds": 2, "runtime_s": 0.2, "ramp_s": 0.05, "confirm": False, "load_seconds": 0.0}
    return Options(only=only, store=f"sqlite:///{folder / 'store.db'}", **{**chosen, **more})


def test_each_layer_is_driven_by_the_process_of_its_node(
    tmp_path: Path, nodes: Running, data: Path, share: str
) -> None:
    before = {name: _spent(p.pid) for name, p in nodes.nodes.items()}
    report = diagnose_path(stack(tmp_path, nodes, data, share), options(tmp_path, "randread", "randwrite"), _quiet)
    spent = {name: _spent(p.pid) - before[name] for name, p in nodes.nodes.items()}
    assert {c.layer for c in report.results if c.result is not None and c.result.ops} == {"file", "share", "own share"}
    assert not [c.error for c in report.results if c.error]
    # A process that issues I/O for most of a second altogether has used some of it.
    assert spent["n1"] > 0.05 and spent["n2"] > 0.05
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
    assert data.exists() and not _descriptors(nodes, data)


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
        _until(lambda: path.exists() and _loads(nodes.nodes["n1"].pid), 60, "the load began")
        session.kill()
        _until(lambda: not _loads(nodes.nodes["n1"].pid) and not path.exists(), 20, "the node ended it")
    finally:
        session.kill()
        session.communicate()
    # It is ready for the next run.
    report = diagnose_path(words, options(tmp_path, size=SIZE), _quiet)
    assert report.results and not path.exists()


def test_a_scheduler_that_is_gone_ends_load_and_file(tmp_path: Path, own_nodes: Running) -> None:
    path = tmp_path / "fresh.dat"
    words = tmp_path / "stack.toml"
    words.write_text(STACK[: STACK.index('[[layer]]\nname = "share"')].format(address=own_nodes.address, path=path))
    said: list[BaseException] = []

    def measure() -> None:
        try:
            diagnose_path(words, options(tmp_path, runtime_s=60.0, size=SIZE), _quiet)
        except BaseException as e:
            said.append(e)

    measuring = threading.Thread(target=measure)
    measuring.start()
    _until(lambda: path.exists() and _loads(own_nodes.nodes["n1"].pid), 60, "the load began")
    os.kill(own_nodes.scheduler.pid, signal.SIGKILL)
    began = time.monotonic()
    _until(lambda: not _loads(own_nodes.nodes["n1"].pid), 20, "the load ended")
    _until(lambda: not path.exists(), 20, "the file was removed")
    assert time.monotonic() - began < 20
    measuring.join(60)
    assert said and isinstance(said[0], RunFailed)


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
    assert data.exists() and not _descriptors(own_nodes, data)


def test_what_the_nodes_cannot_do_is_refused_before_anything_is_made(
    tmp_path: Path, nodes: Running, data: Path, share: str
) -> None:
    words = stack(tmp_path, nodes, data, share)
    text = words.read_text()
    words.write_text(text.replace('node = "n2"\n', 'node = "n3"\n').replace('name = "n2"', 'name = "n3"'))
    with pytest.raises(RunFailed, match="no node of that name has joined") as caught:
        diagnose_path(words, options(tmp_path), _quiet)
    assert "strata node join" in caught.value.hint
    # A layer whose node is away can be left out.
    assert diagnose_path(words, options(tmp_path, layers=("file",)), _quiet).results
    words.write_text(text.replace('on = ["file"]\nendpoint = "nbd://127.0.0.1:0', 'endpoint = "nbd://127.0.0.1:0'))
    words.write_text(words.read_text().replace('name = "own share"\nnode = "n1"', 'name = "own share"\nnode = "n2"'))
    with pytest.raises(UsageError, match="serves the file on its own node"):
        diagnose_path(words, options(tmp_path), _quiet)
    words.write_text(text)
    with pytest.raises(UsageError, match="measured from this machine"):
        diagnose_path(tmp_path, options(tmp_path, nodes=nodes.address), _quiet)


SWEPT = {
    "iodepth": (("--points", "1,2"), 6),
    "threads": (("--points", "1,2"), 6),
    "clients": (("--points", "1,2"), 6),
    "bs": (("--points", "4k,16k"), 6),
    "connections": (("--points", "1,2", "--iodepth", "4"), 4),
    "cores": (("--points", "1,2", "--numjobs", "2"), 6),
}
"""By axis, with the points of all layers: no connections lead to a file."""
EVERY_DAY = ("iodepth", "clients")


def swept(where: Path, *words: object) -> dict[str, Any]:
    asked = ("--budget", "3s", "--no-open-loop", "--buffered", "--json", "--progress", "none")
    done = strata("scale", where, *words, *asked)
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


@pytest.mark.parametrize(
    "axis", [*EVERY_DAY, *(pytest.param(x, marks=pytest.mark.slow) for x in SWEPT if x not in EVERY_DAY)]
)
def test_the_points_of_a_sweep_are_driven_by_the_nodes_of_their_layers(
    tmp_path: Path, nodes: Running, data: Path, share: str, axis: str
) -> None:
    words, many = SWEPT[axis]
    file, by = stack(tmp_path, nodes, data, share), ()
    if axis == "clients":
        # A scheduler that is given drives the layers, too.
        file.write_text(file.read_text().replace(f'scheduler = "{nodes.address}"\n', ""))
        by = ("--nodes", nodes.address)
    before = {name: _spent(node.pid, children=True) for name, node in nodes.nodes.items()}
    found = swept(file, "--over", axis, *words, *by)
    points = found["points"]
    assert len(points) == many
    assert {p["layer"] for p in points} >= {"share", "own share"}
    assert all(p["iops"]["value"] > 0 and p["rounds"] >= 3 for p in points)
    assert all(_spent(node.pid, children=True) - before[name] > 0.05 for name, node in nodes.nodes.items())
    (said,) = found["remarks"]
    assert "its own node: n1, n2" in said
    # The server of its own tells its times, on the node that started it.
    assert {p["layer"] for p in points if "90.server" in p["latency_ns"]} == {"own share"}
    assert data.exists() and not _descriptors(nodes, data)


def test_a_sweep_from_nodes_writes_to_the_marked_file_alone_and_goes_on_there(
    tmp_path: Path, nodes: Running, data: Path, share: str
) -> None:
    words, store = stack(tmp_path, nodes, data, share), f"sqlite:///{tmp_path / 's.db'}"
    argv = ["scale", str(words), "--rw", "randwrite", "--points", "1,2,4", "--budget", "9s", "--no-open-loop"]
    argv += ["--buffered", "--progress", "none", "--store", store, "--until", "0.1%"]
    running = started(*argv)
    _until(lambda: _loads(nodes.nodes["n2"].pid), 60, "a load on n2")
    time.sleep(2)
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=60)
    assert running.returncode == 130 and "strata scale --resume" in said
    assert not _descriptors(nodes, data)
    words.unlink()
    done = strata("scale", "--resume", "--json", "--progress", "none", "--store", store)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert len(found["points"]) >= 9 and all(p["iops"]["value"] > 0 for p in found["points"])
    # What is no test file of this run any more is not written to, by whichever node.
    stack(tmp_path, nodes, data, share)
    running = started(*argv)
    _until(lambda: _loads(nodes.nodes["n2"].pid), 60, "a load on n2 again")
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
    assert not _descriptors(nodes, data)


def test_fio_loads_layers_from_their_nodes_and_ends_with_whoever_asked(
    tmp_path: Path, nodes: Running, data: Path, share: str
) -> None:
    need("fio")
    words = stack(tmp_path, nodes, data, share)
    asked = options(tmp_path, "randread", "randwrite", engine="fio", layers=("file",))
    before = _spent(nodes.nodes["n1"].pid, children=True)
    report = diagnose_path(words, asked, _quiet)
    assert report.run.environment.engine["name"] == "fio"
    assert {c.result.engine["name"] for c in report.results if c.result is not None} == {"fio"}
    assert not [c.error for c in report.results if c.error]
    assert _spent(nodes.nodes["n1"].pid, children=True) - before > 0.5, "it is the node that starts it"
    argv = ["measure", str(words), "--rw", "randread", "--buffered", "--runtime", "30s", "--rounds", "2"]
    argv += ["--layers", "file", "--engine", "fio", "--progress", "none", "--store", f"sqlite:///{tmp_path / 's.db'}"]
    session = started(*argv)
    try:
        _until(lambda: _fios(nodes.nodes["n1"].pid), 60, "fio began")
        session.kill()
        _until(lambda: not _fios(nodes.nodes["n1"].pid), 20, "the node ended it")
    finally:
        session.kill()
        session.communicate()
    assert data.exists() and not _descriptors(nodes, data)


def test_a_matrix_is_driven_from_the_nodes_and_goes_on_there(
    tmp_path: Path, nodes: Running, data: Path, share: str
) -> None:
    words, store = stack(tmp_path, nodes, data, share), f"sqlite:///{tmp_path / 's.db'}"
    asked = ("--matrix", "bs=8k;iodepth=1,2;rw=randread", "--budget", "8s", "--buffered")
    planned = strata("plan", words, *asked, "--json", "--store", store)
    assert planned.returncode == 0, planned.stderr
    assert len(json.loads(planned.stdout)["plan"]["cells"]) == 6
    before = {name: _spent(node.pid) for name, node in nodes.nodes.items()}
    done = strata("measure", words, *asked, "--json", "--progress", "none", "--store", store)
    assert done.returncode == 0, done.stderr
    cells = json.loads(done.stdout)["cells"]
    assert len(cells) == 6
    assert {c["layer"] for c in cells if c["iops"]} == {"file", "share", "own share"}
    assert all(_spent(node.pid) > before[name] for name, node in nodes.nodes.items())
    assert not _descriptors(nodes, data)
    # Interrupted, it goes on with the same nodes.
    argv = ["measure", str(words), *asked[:3], "30s", "--buffered", "--progress", "none", "--store", store]
    running = started(*argv)
    _until(lambda: _loads(nodes.nodes["n1"].pid), 30, "a load on n1")
    time.sleep(1)
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=60)
    assert running.returncode == 130, said
    assert not _descriptors(nodes, data)
    words.unlink()
    more = started("measure", "--resume", "--progress", "none", "--store", store)
    _until(lambda: _loads(nodes.nodes["n1"].pid), 30, "a load on n1 again")
    more.send_signal(signal.SIGINT)
    _, said = more.communicate(timeout=60)
    assert more.returncode == 130, said


def test_a_file_is_preconditioned_by_the_node_that_writes_to_it(
    tmp_path: Path, nodes: Running, data: Path, share: str
) -> None:
    asked = options(tmp_path, "randwrite").model_copy(update={"precondition_s": 5.0, "precondition_bytes": MIB})
    report = diagnose_path(stack(tmp_path, nodes, data, share), asked, _quiet)
    (done,) = report.run.preconditions
    assert done.ended in ("bytes", "steady")
    assert 0 < done.bytes_written <= MIB
    assert not any(c.error for c in report.results if c.layer in ("file", "own share"))
    assert not _descriptors(nodes, data)


def test_layers_without_a_node_are_driven_from_here(tmp_path: Path, nodes: Running, data: Path, share: str) -> None:
    words = stack(tmp_path, nodes, data, share)
    words.write_text(words.read_text().replace('node = "n1"\n', ""))
    before = _spent(nodes.nodes["n2"].pid)
    report = diagnose_path(words, options(tmp_path, "randwrite"), _quiet)
    assert {c.layer for c in report.results if c.error is None} == {"file", "share", "own share"}
    assert _spent(nodes.nodes["n2"].pid) - before > 0.05
    assert "its own node: n2" in (report.run.message or "")
    assert data.exists() and not _descriptors(nodes, data)


def test_a_file_of_others_does_not_say_which_scheduler_without_certificates_is_asked(
    tmp_path: Path, nodes: Running, data: Path, share: str
) -> None:
    words = stack(tmp_path, nodes, data, share)
    words.chmod(0o666)
    with pytest.raises(SafetyRefusal, match="other users can write to the file"):
        diagnose_path(words, options(tmp_path), _quiet)
    words.write_text(words.read_text().replace("tcp://", "tls://"))
    # A certificate of our authority is what counts then; here there is none.
    with pytest.raises(RunFailed, match="there is no certificate"):
        diagnose_path(words, options(tmp_path), _quiet)


def test_the_nodes_of_a_stack_are_surveyed_and_compared(tmp_path: Path, nodes: Running, data: Path, share: str) -> None:
    words = stack(tmp_path, nodes, data, share)
    found = compare_surveys([words])
    assert [(n.name, n.path) for n in found.nodes] == [("n1", str(data.parent)), ("n2", "/")]
    # One machine: what is of the machine is the same, the file systems may not be.
    same = {field.name for field in found.those(Agreement.SAME)}
    assert "kernel" in same
    with pytest.raises(UsageError, match="the nodes of one stack file"):
        compare_surveys([tmp_path, tmp_path], nodes.address)


def test_a_layer_with_other_data_is_refused_on_its_node(tmp_path: Path, nodes: Running, data: Path) -> None:
    other = tmp_path / "other.dat"
    with testfile.new(other, SIZE) as held:
        held.keep()
    with testfile.own(other, lock=False) as held:
        backing = Backing(kind="file", path=str(other), fd=held.fd, read_only=False, direct=False)
        with TargetProcess(TargetConfig(backing=backing, export="other")) as server:
            words = stack(tmp_path, nodes, data, server.uri(1))
            with pytest.raises(SafetyRefusal, match="does not hold the data"):
                diagnose_path(words, options(tmp_path), _quiet)
    assert not _descriptors(nodes, data)


SERVED = """
[stack]
name = "served elsewhere"
{scheduler}

[[node]]
name = "server"
{server_netns}

[[node]]
name = "client"
{client_netns}

[[layer]]
name = "file"
{file_node}
endpoint = "file:{path}"

[[layer]]
name = "share"
node = "client"
on = ["file"]
endpoint = "{share}"
stats = "{stats}"
server = "server"
"""


@pytest.mark.root
@pytest.mark.parametrize("driven", [True, False], ids=["from nodes", "from this machine"])
def test_the_target_on_another_node_tells_its_times_by_the_socket_that_the_file_names(
    tmp_path: Path, data: Path, driven: bool
) -> None:
    """Server, client and scheduler each in a namespace of their own; the client's node cannot read the socket."""
    socket = tmp_path / "volume" / "stats"
    with star(["server", "client"]) as spaces, ExitStack() as held:
        file = held.enter_context(testfile.own(data, lock=False))
        backing = Backing(kind="file", path=str(data), fd=file.fd, read_only=False, direct=False)
        shape = Shaping(service_time_ns=500_000)
        config = TargetConfig(
            tcp="10.213.8.2:0", netns=spaces["server"], backing=backing, shape=shape, export="volume",
            guarded_bytes=MARK_BYTES, stats=str(socket),
        )  # fmt: skip
        server = held.enter_context(TargetProcess(config))
        netns = {name: "" if driven else f'netns = "{spaces[name]}"' for name in ("server", "client")}
        where = ""
        if driven:
            apart = {name: inside(spaces[name]) for name in ("server", "client")}
            hidden = 'mount -t tmpfs tmpfs "$0" && exec "$@"'
            apart["client"] += ["unshare", "--mount", "sh", "-c", hidden, str(data.parent)]
            names, hub = list(apart), spaces["hub"]
            held.enter_context(cluster(tmp_path, names, "tcp://10.213.8.1:8786", inside=inside(hub), apart=apart))
            where = f'scheduler = "tcp://10.213.8.1:8786"\nscheduler_netns = "{hub}"'
        words = tmp_path / "stack.toml"
        words.write_text(
            SERVED.format(
                scheduler=where, server_netns=netns["server"], client_netns=netns["client"], path=data,
                share=server.uri(), stats=socket, file_node='node = "server"' if driven else "",
            )
        )  # fmt: skip
        report = diagnose_path(words, options(tmp_path, "randread", "randwrite"), _quiet)
        assert not [c.error for c in report.results if c.error]
        for cell in report.results:
            told = {s.labels.get("node") for s in cell.counters if s.metric == target.REQUESTS.name}
            assert told == ({"server"} if cell.layer == "share" else set())
            assert (cell.server is not None) == (cell.layer == "share")
        splits = {(c.layer, s.direction): s for c in report.analysis.cells for s in c.splits}
        assert set(splits) == {("share", "read"), ("share", "write")}
        for one in splits.values():
            assert one.server_ns.value > 450_000 and one.percentiles
        found = swept(words, "--over", "iodepth", "--points", "1,2")
        mean = {(p["layer"], p["value"]): p["latency_ns"].get("mean.server") for p in found["points"]}
        assert mean["file", 1] is None and mean["share", 1]["value"] > 450_000 and mean["share", 2] is not None
        # A socket that is not there costs its figures, and says so.
        words.write_text(words.read_text().replace(str(socket), f"{socket}-gone"))
        report = diagnose_path(words, options(tmp_path, "randread"), _quiet)
        shares = [c for c in report.results if c.layer == "share"]
        assert shares and all(c.server is None and c.error is None for c in shares)
        assert [said for c in shares for said in c.absent if f"no statistics at {socket}-gone" in said]


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


def _quiet(_: object) -> None:
    return None


def _until(true: Any, within_s: float, what: str) -> None:
    until = time.monotonic() + within_s
    while not true():
        assert time.monotonic() < until, f"not within {within_s:g} s: {what}"
        time.sleep(0.05)


def _spent(pid: int, *, children: bool = False) -> float:
    """CPU seconds, also of its children that have ended where that is asked."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11 : 15 if children else 13])) / os.sysconf("SC_CLK_TCK")


def _loads(pid: int) -> bool:
    """Whether it has a load thread."""
    tasks = Path(f"/proc/{pid}/task")
    try:
        return any((t / "comm").read_text().strip() == "strata-0" for t in tasks.iterdir())
    except FileNotFoundError:
        return False


def _fios(pid: int) -> list[str]:
    """Processes of fio that it has started."""
    children = [
        child for task in Path(f"/proc/{pid}/task").iterdir() for child in (task / "children").read_text().split()
    ]
    return [child for child in children if Path(f"/proc/{child}/comm").read_text().strip() == "fio"]


def _descriptors(nodes: Running, path: Path) -> list[str]:
    """Descriptors of the file that node processes still have."""
    found = []
    for process in (p for p in nodes.nodes.values() if p.poll() is None):
        for fd in Path(f"/proc/{process.pid}/fd").iterdir():
            try:
                target = str(fd.readlink())
            except OSError:
                continue
            if target == str(path):
                found.append(str(fd))
    return found
