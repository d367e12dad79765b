"""A run whose layers are driven from nodes: their requests are traced by the node that has the devices below them.

n1 is another machine to whoever asks and has the disk; it alone may trace, unless a test says otherwise.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from another_machine import another_machine
from commands import STRATA
from driven import DISK_AND_FILE
from fleet_peers import Running, cluster
from loops import MIB, image, loop, mounted, need, need_root, run
from tracing import HIDDEN, with_tracefs
from users_file import served, users_file

pytestmark = pytest.mark.root
STACK = f"""
[stack]
name = "traced"

[[node]]
name = "n1"
owner = true

[[node]]
name = "n2"
{DISK_AND_FILE}
[[layer]]
name = "far"
node = "n2"
on = ["file"]
endpoint = "{{far}}"
"""
WANTED = """
from importlib import import_module
rules = import_module("strata.diagnose")
rules.propose = lambda *_: None
rules.order_wanted = lambda stack, analysis, _: tuple(
    (c.layer, c.workload.key) for c in analysis.cells if c.layer != "disk" and not c.traces
)
from strata.cli.main import main
main()
"""
"""The command line whose rules ask for the order of these, as they do where it alone would tell."""


@pytest.fixture
def volume(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """A disk in memory, and the directory at which it is mounted: before the nodes begin, which see it there."""
    need_root()
    (memory := tmp_path / "memory").mkdir()
    run("mount", "-t", "tmpfs", "-o", "size=128m", "tmpfs", str(memory))
    try:
        with loop(image(memory / "disk", 96 * MIB)) as device:
            run(need("mkfs.ext4"), "-q", device)
            with mounted(device, tmp_path / "volume") as folder:
                yield device, folder
    finally:
        # Nodes of other tests, in mount namespaces of their own, may hold what was mounted when they began.
        run("umount", "--lazy", str(memory))


@pytest.fixture
def data(volume: tuple[str, Path]) -> Path:
    return users_file(volume[1] / "strata.dat")


@pytest.fixture
def share(data: Path) -> Iterator[str]:
    """Beside n1."""
    with served(data, direct=True) as uri:
        yield uri


def nodes(folder: Path, n1: list[str], n2: list[str]) -> Any:
    return cluster(folder, ["n1", "n2"], apart={"n1": n1, "n2": n2})


def diagnosed(
    folder: Path, at: Running, volume: tuple[str, Path], far: str, *words: object, program: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    """By a process that may not trace."""
    (file := folder / "stack.toml").write_text(STACK.format(device=volume[0], path=volume[1] / "strata.dat", far=far))
    argv = [*HIDDEN, *(program or STRATA), "diagnose", str(file), "--nodes", at.address, "--rounds", "2"]
    argv += ["--runtime", "300ms", "--ramp-time", "50ms", "--workloads", "randread-8KiB-qd1", "--json"]
    argv += ["--progress", "none", "--store", f"sqlite:///{folder / 'runs.db'}", *map(str, words)]
    return subprocess.run(argv, capture_output=True, text=True, timeout=240, check=False)


def report(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.returncode in (0, 4), done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def traces(found: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """By layer."""
    return {c["layer"]: c.get("traces", []) for c in found["cells"]}


@pytest.mark.ci
def test_the_node_with_the_device_traces_every_layer_above_it_whoever_drives_it(
    tmp_path: Path, volume: tuple[str, Path], share: str
) -> None:
    with nodes(tmp_path, with_tracefs(*another_machine(tmp_path)), [*HIDDEN, "env"]) as at:
        found = report(diagnosed(tmp_path, at, volume, share, "--trace", "--no-confirm"))
    for layer, seen in traces(found).items():
        (one,) = seen
        assert (one["device"], one["node"]) == (volume[0].removeprefix("/dev/"), "n1"), layer
        assert one["read"]["requests"] > 10 and one["whole"]
        # The load and its requests are those of one window, each random read one request.
        assert one["requests_per_io"] == pytest.approx(1.0, abs=0.1), layer
        assert one["seconds"] > 0.3
    assert set(traces(found)) == {"disk", "file", "far"}
    assert not found["failures"] and "trace" not in found["run"]["message"]


@pytest.mark.ci
def test_a_node_that_may_not_trace_says_so_and_the_others_do(
    tmp_path: Path, volume: tuple[str, Path], data: Path
) -> None:
    with nodes(tmp_path, [*HIDDEN, *another_machine(tmp_path)], with_tracefs("env")) as at:
        found = report(diagnosed(tmp_path, at, volume, f"file:{data}", "--trace", "--no-confirm"))
        seen = traces(found)
        assert not seen["disk"] and not seen["file"]
        (one,) = seen["far"]
        assert one["node"] == "n2" and one["read"]["requests"] > 10
        said = found["run"]["message"]
        assert "not traced: disk, " in said and "not traced: file, " in said and "trace of far, " in said, said
        assert "n1 (disk): " in said and "tracefs is not mounted here" in said
        # Where nobody may, nothing is begun.
        done = diagnosed(tmp_path, at, volume, f"file:{data}", "--trace", "--layers", "disk,file")
    assert done.returncode == 1 and "tracefs is not mounted here" in done.stderr and "n1 (" in done.stderr


@pytest.mark.ci
def test_a_diagnosis_by_itself_has_the_order_traced_there(tmp_path: Path, volume: tuple[str, Path], share: str) -> None:
    with nodes(tmp_path, with_tracefs(*another_machine(tmp_path)), [*HIDDEN, "env"]) as at:
        found = report(diagnosed(tmp_path, at, volume, share, program=(sys.executable, "-c", WANTED)))
    seen = traces(found)
    assert not seen["disk"]
    assert [(t["node"], t["read"]["requests"] > 10) for t in (*seen["file"], *seen["far"])] == [("n1", True)] * 2
