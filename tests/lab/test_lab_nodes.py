"""A lab whose layers are driven by processes in its own namespaces, and the stacks of several nodes diagnosed so."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import forked
import pytest
from absent import absent

from strata.errors import RunFailed
from strata_lab.down import down
from strata_lab.lab import Lab
from strata_lab.leftovers import leftovers
from strata_lab.up import up

pytestmark = pytest.mark.root
SMALL = {"size": "192m", "file": "16m"}


def run(lab: Lab, command: str, *words: str) -> dict[str, Any]:
    """`strata COMMAND` of the lab's stack file, as JSON."""
    store = f"sqlite:///{lab.data / 'store.db'}"
    argv = (command, str(lab.data / "stack.toml"), *words, "--json", "--progress", "none", "--store", store)
    done = forked.run(argv, 900)
    # A short run may carry no verdict.
    assert done.returncode in (0, 4), done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def spent(lab: Lab, node: str) -> float:
    """CPU seconds of the node's process."""
    fields = Path(f"/proc/{lab.process(f'node-{node}').pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def by_layer(document: dict[str, Any]) -> dict[str, int]:
    """Cells with a figure, by layer."""
    found: dict[str, int] = {}
    for cell in document["cells"]:
        found[cell["layer"]] = found.get(cell["layer"], 0) + 1
    return found


@pytest.mark.ci
@pytest.mark.first
def test_each_layer_of_a_lab_is_driven_from_its_own_namespace(name: str) -> None:
    lab = up("block-share", name, SMALL, nodes=True)
    scheduler = lab.last_fact("scheduler")
    assert scheduler is not None and scheduler["address"].startswith("tcp://10.77.")
    namespaces = {n.name: str(Path(f"/proc/{lab.process(f'node-{n.name}').pid}/ns/net").readlink()) for n in lab.nodes}
    assert len(set(namespaces.values())) == len(lab.nodes) == 2
    before = {n.name: spent(lab, n.name) for n in lab.nodes}
    words = ["--rw", "randread", "--bs", "8k", "--iodepth", "4", "--runtime", "300ms", "--rounds", "2"]
    document = run(lab, "measure", *words)
    assert set(by_layer(document)) == {"disk", "file system", "NBD export"}
    assert all(spent(lab, n.name) - before[n.name] > 0.05 for n in lab.nodes)
    assert "each layer came from its own node" in document["run"]["message"]
    assert down(lab) > 0
    assert leftovers(name, lab.token) == ()


STACKS = {
    "mirrored": {"engine": "btrfs", "data": "16m"},
    "cluster-volume": {"data": "16m"},
    "vm-disks": {"disks": "1"},
}


@pytest.mark.slow
@pytest.mark.parametrize("stack", STACKS)
def test_a_stack_of_several_nodes_is_diagnosed_from_its_nodes(name: str, stack: str) -> None:
    lab = up(stack, name, STACKS[stack], nodes=True)
    layers = {layer["name"] for layer in _layers(lab)}
    document = run(lab, "diagnose")
    assert set(by_layer(document)) == layers
    drivers = {layer["node"] for layer in _layers(lab)}
    assert "each layer came from its own node" in document["run"]["message"]
    assert all(spent(lab, node) > 1.0 for node in drivers)
    assert down(lab) > 0
    assert leftovers(name, lab.token) == ()


def _layers(lab: Lab) -> list[dict[str, Any]]:
    import tomllib

    found: list[dict[str, Any]] = tomllib.loads((lab.data / "stack.toml").read_text())["layer"]
    return found


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["gluster", "ceph"])
def test_the_client_library_of_a_cluster_is_driven_from_its_node(name: str, engine: str) -> None:
    try:
        lab = up("mirrored", name, {"engine": engine, "client": "library", "data": "16m", "medium": "fast"}, nodes=True)
    except RunFailed as e:
        if "the lab needs" in str(e):
            absent(str(e))
        raise
    document = run(
        lab, "measure", "--rw", "randread", "--bs", "8k", "--iodepth", "4", "--runtime", "1s", "--rounds", "2"
    )
    library = next(layer for layer in _layers(lab) if "by library" in layer["name"])
    assert set(by_layer(document)) == {layer["name"] for layer in _layers(lab)}
    assert document["run"]["environment"]["engine"]["name"] == "fio"
    assert "each layer came from its own node" in document["run"]["message"]
    words = ["--over", "iodepth", "--points", "1,4", "--budget", "5s", "--no-open-loop"]
    points = run(lab, "scale", *words)["points"]
    assert {(p["layer"], p["value"]) for p in points} >= {(library["name"], 1), (library["name"], 4)}, points
    assert down(lab) > 0
    assert leftovers(name, lab.token) == ()
