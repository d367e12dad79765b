"""Layers on nodes that are network namespaces: each endpoint is dialled from the namespace of its node."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from commands import QUICK, STRATA, strata, working_disk
from engine_cases import MIB, request
from namespaces import Nodes, inside, two_nodes
from tiers import rest_in_ci

from strata.engine import engine_of, probe_remote, read_remote
from strata.engine.remote_file import exists
from strata.errors import RunFailed
from strata.model.endpoint import Endpoint

PORT = 10809

pytestmark = pytest.mark.root


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    with two_nodes() as made:
        yield made


@contextmanager
def served(netns: str, *words: object) -> Iterator[None]:
    """`strata target` in that namespace."""
    server = subprocess.Popen([*inside(netns), *STRATA, "target", *map(str, words)], stderr=subprocess.PIPE, text=True)
    try:
        assert server.stderr is not None
        said = []
        while not (line := server.stderr.readline()).startswith("serving "):
            said.append(line)
            assert line, f"the server ended: {said}"
        yield
    finally:
        server.terminate()
        server.communicate(timeout=30)


@pytest.mark.parametrize("engine", rest_in_ci(["native", "fio"], every_day=1))
def test_an_endpoint_is_dialled_from_its_node(nodes: Nodes, engine: str) -> None:
    here = Endpoint.parse(f"nbd://{nodes.second_address}:{PORT}/x")
    there = here.seen_from(nodes.first)
    with served(
        nodes.second, "--memory", 8 * MIB, "--writable", "--listen", f"{nodes.second_address}:{PORT}", "--export", "x"
    ):
        assert read_remote(there, 0, 4096) == bytes(4096)
        assert probe_remote("share", there).min_rtt_ns > 0
        asked = request(here.uri).model_copy(update={"endpoint": there})
        result = engine_of(engine).run(asked)
    assert result.ops > 0
    assert result.errored == 0
    assert result.effective["netns"] == nodes.first


def test_a_namespace_that_is_not_there_is_named(tmp_path: Path) -> None:
    gone = Endpoint.parse("nbd://127.0.0.1:1/").seen_from("/run/netns/strata-there-is-none")
    asked = request(gone.uri).model_copy(update={"endpoint": gone})
    for call in (lambda: probe_remote("share", gone), lambda: engine_of("native").run(asked)):
        with pytest.raises(RunFailed, match=r"network namespace /run/netns/strata-there-is-none: it does not exist"):
            call()
    other = tmp_path / "plain"
    other.touch()
    with pytest.raises(RunFailed, match="it is not a network namespace"):
        probe_remote("share", gone.seen_from(str(other)))


def test_what_cannot_be_entered_has_no_file_that_is_not_there_and_its_own_next_step() -> None:
    """ENOENT is that of the namespace here, not of the file."""
    gone = Endpoint.parse("smb://127.0.0.1:1/share/file").seen_from("/run/netns/strata-there-is-none")
    with pytest.raises(RunFailed) as told:
        exists(gone)
    assert "start the lab, or correct netns of the node" in str(told.value)
    server = Endpoint.parse("nbd://127.0.0.1:1/")
    with pytest.raises(RunFailed) as closed:
        probe_remote("share", server.seen_from("/run/netns/strata-there-is-none"))
    assert (told.value.hint, closed.value.hint) == ("", "")
    with pytest.raises(RunFailed) as refused:
        probe_remote("share", server)
    assert refused.value.hint == "no server is listening there; start it first"


def test_a_stack_of_two_nodes_is_diagnosed(nodes: Nodes, tmp_path: Path) -> None:
    """A kept file; its server on one node; a client there and one on the other; and a server of Strata's own."""
    with working_disk() as disk:
        data = disk / "strata.dat"
        made = strata("measure", f"file:{data}", "--size", "16m", "--keep", "--runtime", "200ms", *QUICK)
        assert made.returncode == 0, made.stderr
        stack = tmp_path / "stack.toml"
        address = f"{nodes.second_address}:{PORT}"
        stack.write_text(f"""
[stack]
name = "two nodes"
[[node]]
name = "client"
netns = "{nodes.first}"
[[node]]
name = "server"
owner = true
netns = "{nodes.second}"
[[layer]]
name = "file system"
endpoint = "file:{data}"
node = "server"
[[layer]]
name = "export at home"
endpoint = "nbd://{address}/volume"
node = "server"
on = ["file system"]
[[layer]]
name = "export over the wire"
endpoint = "nbd://{address}/volume"
node = "client"
on = ["export at home"]
[[layer]]
name = "own server"
endpoint = "nbd://127.0.0.1:0/own"
node = "client"
on = ["file system"]
""")
        words = ("--file", data, "--writable", "--listen", address, "--export", "volume")
        with served(nodes.second, *words):
            done = strata(
                *("diagnose", stack, *QUICK, "--rounds", "2", "--runtime", "200ms", "--no-confirm", "--json"),
                *("--workloads", "randread-*-qd8"),
            )
        assert done.returncode in (0, 4), done.stderr
        report = json.loads(done.stdout)
        layers = {cell["layer"] for cell in report["cells"]}
        assert layers == {"file system", "export at home", "export over the wire", "own server"}
        assert "mark" in report["run"]["data"]["identity"]["export over the wire"]
        # These are typed outside: what dials from a node enters it first.
        repeated = [line["command"] if isinstance(line, dict) else line[1] for line in report["repeat"]]
        assert [line for line in repeated if line.startswith(f"nsenter --net={nodes.first} -- strata target")]
