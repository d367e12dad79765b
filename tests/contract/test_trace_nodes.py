"""`strata trace --nodes`: real node processes trace the devices below their own layers; the load is known.

n1 is another machine to whoever asks (another boot id, its monotonic clock an hour ahead), n2 is on this one.
"""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from another_machine import APART_S, another_machine
from commands import STRATA, strata
from fleet_peers import Running, cluster
from loops import MIB, image, loop, need_root, run, unmount
from tracing import BLOCK, HIDDEN, read_in_order, with_tracefs

from strata.app.driven.held import carry, hold, traceable_there
from strata.app.driven.words import NodeTask, TracedThere
from strata.errors import RunFailed, StrataError, UsageError
from strata.fleet import Call, Cluster
from strata.model.trace import TraceTarget

pytestmark = pytest.mark.root
ROOT = Path(__file__).resolve().parents[2]
HEAD = '[stack]\nname = "traced"\n\n[[node]]\nname = "n1"\nowner = true\n\n[[node]]\nname = "n2"\n'
LAYER = '\n[[layer]]\nname = "{name}"\nendpoint = "{uri}"\n{more}'


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRATA_STATE_DIR", str(tmp_path / "state"))


@pytest.fixture
def devices(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """One of n1's layer, one of n2's. In memory: a disk below would be traced too, with what others ask of it."""
    need_root()
    (memory := tmp_path / "memory").mkdir()
    run("mount", "-t", "tmpfs", "-o", "size=128m", "tmpfs", str(memory))
    try:
        with loop(image(memory / "first", 64 * MIB)) as first, loop(image(memory / "second", 64 * MIB)) as second:
            yield first, second
    finally:
        unmount(memory)


@contextmanager
def two_machines(folder: Path) -> Iterator[Running]:
    words = {"n1": with_tracefs(*another_machine(folder)), "n2": with_tracefs("env")}
    with cluster(folder, ["n1", "n2"], apart=words) as running:
        yield running


@pytest.fixture(scope="module")
def apart(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One for all tests that leave its nodes as they are: to start one takes as long as to ask it."""
    folder = tmp_path_factory.mktemp("apart")
    with pytest.MonkeyPatch.context() as patch:
        # `own_state` is of one test.
        for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "STRATA_STATE_DIR"):
            patch.setenv(name, str(folder / "state"))
        patch.delenv("STRATA_STORE", raising=False)
        with two_machines(folder) as running:
            patch.undo()
            yield running


@pytest.fixture
def mortal(tmp_path: Path) -> Iterator[Running]:
    """For a test that kills one of them."""
    with two_machines(tmp_path) as running:
        yield running


def stack(folder: Path, *layers: tuple[str, str, str | None]) -> Path:
    """Of (name, endpoint, node)."""
    path = folder / "stack.toml"
    told = [LAYER.format(name=a, uri=b, more=f'node = "{c}"\n' if c else "") for a, b, c in layers]
    path.write_text(HEAD + "".join(told))
    return path


def two(folder: Path, devices: tuple[str, str]) -> Path:
    return stack(folder, ("disk", f"block:{devices[0]}", "n1"), ("other", f"block:{devices[1]}", "n2"))


def traced(where: Path, nodes: Running, *words: object) -> subprocess.CompletedProcess[str]:
    argv = with_tracefs(*STRATA, "trace", where, "--nodes", nodes.address, "--json", *words)
    return subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False)


def document(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def of_node(found: dict[str, Any], name: str, node: str | None) -> dict[str, Any]:
    named = {(d["target"]["name"], d["target"].get("node")): d for d in found["figures"]["devices"]}
    return dict(named[(name.removeprefix("/dev/"), node)])


def reading(device: str, blocks: list[int]) -> list[str]:
    """A command that reads these blocks in this order."""
    words = f"from tracing import read_in_order as r; r({device!r}, {blocks!r})"
    return ["env", f"PYTHONPATH={ROOT}/src:{ROOT}/tests/contract", sys.executable, "-c", words]


def instances() -> list[str]:
    look = with_tracefs("ls", "/sys/kernel/tracing/instances")
    return subprocess.run(look, capture_output=True, text=True, check=True).stdout.split()


def test_each_layer_is_traced_by_its_node_on_our_clock(
    tmp_path: Path, apart: Running, devices: tuple[str, str]
) -> None:
    loads = [shlex.join(reading(device, list(range(n)))) for device, n in zip(devices, (300, 200), strict=True)]
    both = ["sh", "-c", " && ".join(loads)]
    before = time.monotonic_ns()
    found = document(traced(two(tmp_path, devices), apart, "--", *both))
    after = time.monotonic_ns()
    first, second = of_node(found, devices[0], "n1"), of_node(found, devices[1], "n2")
    assert first["read"]["issued"]["ios"] == 300 and first["read"]["issued"]["lengths"] == [[BLOCK, 300]]
    assert first["read"]["issued"]["order"]["strict_share"] == 1.0
    assert second["read"]["issued"]["ios"] == 200
    # An hour apart, and yet on our clock: the load of both lies within the command's time, one after the other.
    windows = {one["node"]: one for one in found["nodes"]}
    assert list(windows) == ["n1", "n2"]
    assert windows["n1"]["offset_ns"] == pytest.approx(APART_S * 1e9, abs=windows["n1"]["bound_ns"])
    assert windows["n2"]["offset_ns"] == pytest.approx(0, abs=windows["n2"]["bound_ns"])
    for one in windows.values():
        assert 0 < one["bound_ns"] < 250e6
        assert before < one["recording"]["began_ns"] < one["recording"]["began_ns"] + one["window_ns"] < after
        assert one["recording"]["whole"] and one["recording"]["ended_by"] == "stopped"
    assert found["figures"]["window_ns"] >= max(one["window_ns"] for one in windows.values())
    assert all(0 < s["at_ns"] < found["figures"]["window_ns"] for s in first["slowest"] + second["slowest"])
    assert max(s["at_ns"] for s in first["slowest"]) < min(s["at_ns"] for s in second["slowest"])
    assert found["recording"] is None and found["command_status"] == 0
    # What the trace costs is said of each; nothing else is to be said.
    assert all("writing the events added" in note for note in found["notes"]), found["notes"]
    assert not _ours(apart)


@pytest.mark.ci
def test_the_page_names_the_node_of_each_device(tmp_path: Path, apart: Running, devices: tuple[str, str]) -> None:
    where = two(tmp_path, devices)
    where.write_text(where.read_text().replace("[stack]", f'[stack]\nscheduler = "{apart.address}"'))
    argv = with_tracefs(*STRATA, "trace", where, "--seconds", "1")
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    page = " ".join(done.stdout.split())
    for device, node in zip(devices, ("n1", "n2"), strict=True):
        assert f"{device.removeprefix('/dev/')} of {node} · device" in page
    assert page.count("by its clock; ") == 2 and page.count("none lost") == 2


@pytest.mark.ci
def test_nodes_of_one_machine_trace_it_once_and_a_layer_without_a_node_is_of_it(
    tmp_path: Path, devices: tuple[str, str]
) -> None:
    where = stack(
        tmp_path,
        ("disk", f"block:{devices[0]}", "n1"), ("again", f"block:{devices[0]}", "n2"),
        ("other", f"block:{devices[1]}", None),
    )  # fmt: skip
    words = {"n1": with_tracefs("env"), "n2": with_tracefs("env")}
    with cluster(tmp_path, ["n1", "n2"], apart=words) as nodes:
        found = document(traced(where, nodes, "--", *reading(devices[0], list(range(64)))))
    assert [one["node"] for one in found["nodes"]] == ["n1"]
    names = [d["target"]["name"] for d in found["figures"]["devices"]]
    assert len(names) == len(set(names))
    assert of_node(found, devices[0], "n1")["read"]["issued"]["ios"] == 64
    assert of_node(found, devices[1], "n1")["read"]["issued"]["ios"] == 0


@pytest.mark.ci
def test_a_node_that_may_not_trace_says_so_and_the_rest_goes_on(tmp_path: Path, devices: tuple[str, str]) -> None:
    words = {"n1": [*HIDDEN, *another_machine(tmp_path)], "n2": with_tracefs("env")}
    with cluster(tmp_path, ["n1", "n2"], apart=words) as nodes:
        found = document(traced(two(tmp_path, devices), nodes, "--", *reading(devices[1], list(range(64)))))
        (why,) = [note for note in found["notes"] if note.startswith("n1 (disk): ")]
        assert "tracefs is not mounted here" in why and "mount -t tracefs" in why
        assert [one["node"] for one in found["nodes"]] == ["n2"]
        assert of_node(found, devices[1], "n2")["read"]["issued"]["ios"] == 64
        # Nothing of it where nobody may.
        alone = stack(tmp_path, ("disk", f"block:{devices[0]}", "n1"))
        done = traced(alone, nodes, "--seconds", "0.2")
    assert done.returncode == 1 and "n1 (disk): " in done.stderr and "tracefs is not mounted here" in done.stderr


@pytest.mark.ci
def test_where_the_node_of_this_machine_may_not_this_process_does(tmp_path: Path, devices: tuple[str, str]) -> None:
    where = stack(tmp_path, ("disk", f"block:{devices[0]}", "n1"))
    with cluster(tmp_path, ["n1"], apart={"n1": [*HIDDEN, "env"]}) as nodes:
        found = document(traced(where, nodes, "--", *reading(devices[0], list(range(32)))))
    assert "this machine is the same machine and traces instead" in " ".join(found["notes"])
    assert [one["node"] for one in found["nodes"]] == [None]
    assert of_node(found, devices[0], None)["read"]["issued"]["ios"] == 32


@pytest.mark.ci
def test_bounds_hold_on_the_node(tmp_path: Path, apart: Running, devices: tuple[str, str]) -> None:
    found = document(
        traced(two(tmp_path, devices), apart, "--max-events", "1000", "--", *reading(devices[0], list(range(4000))))
    )
    ended = {one["node"]: one["recording"]["ended_by"] for one in found["nodes"]}
    assert ended == {"n1": "events", "n2": "stopped"}
    events = next(one["events"] for one in found["nodes"] if one["node"] == "n1")
    assert 1000 <= events <= 12_000
    assert [n for n in found["notes"] if n.startswith("n1: the window ended after")]


@pytest.mark.ci
@pytest.mark.first
def test_a_node_that_dies_says_so_and_a_client_that_dies_leaves_nothing(
    tmp_path: Path, mortal: Running, devices: tuple[str, str]
) -> None:
    where = two(tmp_path, devices)
    argv = with_tracefs(*STRATA, "trace", where, "--nodes", mortal.address, "--json", "--seconds", "60")
    begun = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        _until(lambda: len(_ours(mortal)) == 2)
        begun.kill()
    finally:
        begun.communicate(timeout=20)
    # Both nodes hear of it, and remove their instances.
    _until(lambda: not _ours(mortal), 30)
    begun = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        _until(lambda: len(_ours(mortal)) == 2)
        mortal.nodes["n1"].kill()
        time.sleep(13)
        begun.send_signal(signal.SIGINT)
        out, err = begun.communicate(timeout=60)
    finally:
        begun.kill()
        begun.communicate()
    found = json.loads(out)
    assert [one["node"] for one in found["nodes"]] == ["n2"], err
    assert [note for note in found["notes"] if note.startswith("n1 (disk): cannot ask node n1")]
    # What a killed node left is removed by the one command, on its machine.
    left = _ours(mortal)
    assert len(left) == 1
    subprocess.run(with_tracefs(*STRATA, "clean"), check=True, capture_output=True, timeout=60)
    assert not _ours(mortal)


def _ours(nodes: Running) -> list[str]:
    """The instances of these nodes."""
    pids = {str(process.pid) for process in nodes.nodes.values()}
    return [name for name in instances() if name.startswith("strata-") and name.split("-")[1] in pids]


def _until(true: Callable[[], bool], within_s: float = 20) -> None:
    deadline = time.monotonic() + within_s
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.mark.ci
def test_what_cannot_be_traced_from_nodes_is_refused_before_anything_is_made(
    tmp_path: Path, devices: tuple[str, str]
) -> None:
    where = two(tmp_path, devices)
    with cluster(tmp_path, ["n1"]) as nodes:
        done = traced(where, nodes)
        assert done.returncode == 1
        assert "cannot trace 'other' from n2: no node of that name has joined" in done.stderr
        for words in (["--waterfall"], ["--save", tmp_path / "kept"], ["--perfetto", tmp_path / "p.json"]):
            done = traced(where, nodes, *words)
            assert done.returncode == 2 and "all events of one machine" in done.stderr, done.stderr
        done = traced(Path(devices[0]), nodes)
        assert done.returncode == 2 and "cannot use --nodes with" in done.stderr
    assert strata("trace", "--from", "x", "--nodes", nodes.address).returncode == 2
    assert not (tmp_path / "kept").exists()


def test_who_has_a_certificate_can_ask_a_trace_for_nothing_that_the_command_does_not_allow(
    tmp_path: Path, apart: Running, devices: tuple[str, str]
) -> None:
    """The calls of a trace as somebody else may make them: bounds are the node's, and devices are by name."""
    device = devices[0].removeprefix("/dev/")
    fine = (TraceTarget(name=device, dev=0),)
    with Cluster.connect(apart.address) as connected:
        task = NodeTask("hostile", None, "", "native", direct=False, writes=False, watches=True)
        holding = threading.Thread(target=lambda: connected.ask_all({"n1": Call.of(hold, task)}, 60), daemon=True)
        holding.start()

        def ask(method: str, *args: object) -> Any:
            return connected.ask("n1", carry, "hostile", method, args, {})

        _until(lambda: _answers(lambda: ask("stop_trace")))
        for targets, seconds, events, said in (
            (fine, float("nan"), 1000, "--seconds must be"),
            (fine, 1e12, 1000, "--seconds must be"),
            (fine, 1.0, 10**12, "--max-events must be"),
            (fine, 1.0, -1, "--max-events must be"),
            ((), 1.0, 1000, "1 to 64 devices"),
            (fine * 65, 1.0, 1000, "1 to 64 devices"),
            ((TraceTarget(name="../../../proc/1", dev=0),), 1.0, 1000, "no such device"),
            ((TraceTarget(name="no\x1b[31m", dev=0),), 1.0, 1000, "no such device"),
        ):
            with pytest.raises((UsageError, RunFailed), match=said):
                ask("begin_trace", targets, seconds, events)
        with pytest.raises(StrataError):
            ask("_trace")
        # A number that was sent is not the one that is followed, and nobody else's trace is under way beside it.
        stranger = TraceTarget(name=device, dev=(8 << 20), sectors=(0, 1))
        ask("begin_trace", (stranger,), 5.0, 1000)
        with pytest.raises(RunFailed, match="already running on this node"):
            ask("begin_trace", fine, 5.0, 1000)
        read_in_order(devices[0], list(range(16)))
        ask("stop_trace")
        taken: list[TracedThere | None] = [None]

        def ended() -> bool:
            taken[0] = ask("take_trace")
            return taken[0] is not None

        _until(ended)
        assert taken[0] is not None and taken[0].figures.devices[0].read.issued.ios == 16
        # What is no path of a device is told apart, and nothing of it is opened.
        there = connected.ask("n1", traceable_there, {"a": "file:/etc/passwd\n", "b": "block:/dev/null"})
        assert not there.targets and len(there.absent) == 2
        with suppress(StrataError):
            ask("close")
        holding.join(20)
        assert not holding.is_alive()
    assert not _ours(apart)


def _answers(ask: Callable[[], object]) -> bool:
    try:
        ask()
    except StrataError:
        return False
    return True
