"""A storage node joins a store and leaves it again while a disk of the store is loaded and another one verified."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from strata_lab.lab import Lab
from strata_lab.stacks.vm_disks.build import spread
from strata_lab.up import up

pytestmark = [pytest.mark.root, pytest.mark.slow]


def test_a_storage_node_joins_and_leaves_under_load_and_nothing_is_lost(name: str) -> None:
    lab: Lab = up("vm-disks", name, {"disks": "2", "queue": "16", "data": "16m", "cache": "8m"})
    stack = str(lab.data / "stack.toml")
    line = [sys.executable, "-m", "strata", "scale", stack, "--under-load", "--over", "storage-nodes"]
    line += ["--layer", "one queue", "--rw", "randread", "--bs", "8k", "--iodepth", "16", "--budget", "30s"]
    done = subprocess.run(
        [*line, "--progress", "none", "--json"], capture_output=True, text=True, env=os.environ | lab.environment,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    print({key: value for key, value in found.items() if key != "series"})
    joined, left = found["changes"]
    assert (joined["before_value"], joined["value"], left["before_value"], left["value"]) == (2, 3, 3, 2)
    assert set(joined["data_before"]) == {"s1", "s2"} and set(joined["data_after"]) == {"s1", "s2", "s3"}
    assert min(joined["data_after"].values()) > 0 and set(left["data_after"]) == {"s1", "s2"} == set(spread(lab))
    # Three nodes serve more than two, and are busy with the data that moves meanwhile.
    assert joined["gain"] > 1 > left["gain"], found["changes"]
    assert joined["dip"] > 0.05 and left["dip"] > 0.05
    verified = found["verified"]
    assert verified["verdict"] == "sound" and verified["writes"] > 0 and verified["acknowledged"] > 0
