"""Several exports of servers in one measurement: each client has one of them, or it is refused at the start."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import strata, target
from fleet_peers import cluster

FEW = ("--rw", "randread", "--runtime", "300ms", "--ramp-time", "50ms", "--progress", "none")


@pytest.mark.parametrize("nodes", [False, True], ids=["here", "nodes"])
def test_several_exports_of_one_client_are_refused_at_the_start(tmp_path: Path, nodes: bool) -> None:
    """No server has to be there for it: the clients said it one by one, each as a loss of its own."""
    words = ("nbd://127.0.0.1:1/a", "--target", "nbd://127.0.0.1:1/b", "--clients", 2, *FEW)
    with cluster(tmp_path, ["n1"] if nodes else []) as running:
        done = strata("measure", *words, *(("--nodes", running.address) if nodes else ()))
    assert done.returncode == 2, done.stderr
    assert "cannot load together: nbd://127.0.0.1:1/a, nbd://127.0.0.1:1/b: one client loads one export" in done.stderr
    assert "hint: give each client one of them: --deal client --clients 2" in done.stderr
    assert "lost" not in done.stderr


def test_each_client_loads_an_export_of_its_own(tmp_path: Path) -> None:
    with (
        target("--memory", "16m", "--socket", tmp_path / "a") as (one, _),
        target("--memory", "16m", "--socket", tmp_path / "b") as (other, _),
    ):
        done = strata("measure", one, "--target", other, "--deal", "client", "--clients", 2, *FEW, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [c["client"] for c in found["clients"]["each"]] == [0, 1]
    assert found["result"]["read"]["ops"] > 0
