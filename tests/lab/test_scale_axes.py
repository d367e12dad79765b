"""Sweeps over what a stack of the lab has more or less of: each point is made in the running lab, and put back."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from strata_lab import disks, sizes
from strata_lab.lab import Lab
from strata_lab.stacks.vm_disks.build import spread
from strata_lab.up import up

pytestmark = [pytest.mark.root, pytest.mark.slow]

READ = ("--rw", "randread", "--bs", "8k", "--no-open-loop", "--progress", "none", "--json")
CAP = 200


def swept(lab: Lab, home: Path, where: str, *words: str, node: str | None = None) -> dict[str, Any]:
    """From a node of the lab, or from this machine with the stack file."""
    line = [sys.executable, "-m", "strata", "scale", where, *words, *READ, "--store", str(home / "store")]
    if node is not None:
        line = [sys.executable, "-m", "strata", "lab", "exec", node, "--name", lab.name, "--", *line]
    done = subprocess.run(line, capture_output=True, text=True, env=os.environ | lab.environment, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    for p in found["points"]:
        iops = p["iops"]
        print(p["layer"], found["ask"]["axis"], p["value"], *(iops[k] for k in ("value", "low", "high", "n")))
    return found


def rates(found: dict[str, Any], layer: str | None = None) -> dict[int, float]:
    return {p["value"]: p["iops"]["value"] for p in found["points"] if layer in (None, p["layer"])}


def uris(lab: Lab) -> list[str]:
    fact = lab.last_fact("disks")
    assert fact is not None
    return list(fact["uris"])


def several(lab: Lab) -> list[str]:
    first, *more = uris(lab)
    return [first, *(word for uri in more for word in ("--target", uri))]


def slow(lab: Lab, words: str) -> None:
    for fact in lab.facts("disk"):
        disks.control(lab, fact["name"]).set(words)


def now(lab: Lab, what: str) -> int:
    return sizes.sizes_of(lab)[what].now(lab)


def test_disks_and_controllers_give_what_their_caps_let_through(name: str, tmp_path: Path) -> None:
    lab = up("vm-disks", name, {"data": "16m", "queue": "16", "cap": str(CAP)})
    slow(lab, "c=16 svc=200")
    first, *more = several(lab)
    words = ("--points", "1,2,4", "--iodepth", "16", "--budget", "35s")
    over_disks = rates(swept(lab, tmp_path, first, *more, "--over", "disks", *words, node="host"))
    for many, rate in over_disks.items():
        assert rate == pytest.approx(CAP * many, rel=0.25), over_disks
    make = f"{sys.executable} -m strata lab resize controllers {{}} --name {lab.name}"
    words = ("--points", "1,2,4", "--iodepth", "4", "--budget", "40s", "--make", make, "--now", "4")
    found = rates(swept(lab, tmp_path, first, *more, "--over", "controllers", *words, node="host"))
    for many, rate in found.items():
        assert rate == pytest.approx(CAP * many, rel=0.25), found
    assert now(lab, "controllers") == 4


def test_queues_of_a_controller_let_so_many_more_through(name: str, tmp_path: Path) -> None:
    lab = up("vm-disks", name, {"disks": "1", "data": "16m", "queue": "1", "cache": "8m"})
    slow(lab, "c=4 svc=12000")
    stack = str(lab.data / "stack.toml")
    found = swept(lab, tmp_path, stack, "--over", "queues", "--points", "1,2,4", "--iodepth", "32", "--budget", "40s")
    queue = rates(found, "one queue")
    assert queue[2] == pytest.approx(2 * queue[1], rel=0.2) and queue[4] == pytest.approx(4 * queue[1], rel=0.3), queue
    served = rates(found, "store, served")
    assert served[4] == pytest.approx(served[1], rel=0.2), "what is below the controller does not know of its queues"
    assert now(lab, "queues") == 1, "it was one, and is again"


def test_storage_nodes_take_their_part_of_the_ios_and_of_the_data(name: str, tmp_path: Path) -> None:
    lab = up("vm-disks", name, {"disks": "1", "data": "16m", "nodes": "1", "cache": "8m", "medium": "slow"})
    stack = str(lab.data / "stack.toml")
    words = ("--over", "storage-nodes", "--points", "1,2,3", "--iodepth", "16", "--budget", "70s")
    store = rates(swept(lab, tmp_path, stack, *words), "store")
    assert 1.5 < store[2] / store[1] < 2.1, store
    assert 1.1 < store[3] / store[2] < 1.6, store
    assert now(lab, "storage-nodes") == 1 and set(spread(lab)) == {"s1"}
    # Nodes that left stand idle, and come back.
    sizes.resize(lab, "storage-nodes", 3)
    held = spread(lab)
    assert set(held) == {"s1", "s2", "s3"} and min(held.values()) > 0, held


def test_each_node_of_a_lab_drives_its_own_load(name: str, tmp_path: Path) -> None:
    lab = up("vm-disks", name, {"disks": "1", "data": "16m", "nodes": "2", "cache": "8m", "queue": "64"}, nodes=True)
    slow(lab, "c=4 svc=8000")
    fact = lab.last_fact("scheduler")
    assert fact is not None
    words = ("--over", "nodes", "--nodes", fact["address"], "--points", "1,2,3", "--iodepth", "2", "--budget", "20s")
    found = swept(lab, tmp_path, uris(lab)[0], *words, node="host")
    points = {p["value"]: p for p in found["points"]}
    assert {n: p["outstanding"] for n, p in points.items()} == {1: 2, 2: 4, 3: 6}
    rate = rates(found)
    assert rate[2] == pytest.approx(2 * rate[1], rel=0.25) and rate[3] > 1.1 * rate[2], rate


def test_a_sweep_over_the_working_set_tells_the_size_of_the_mediums_cache(name: str, tmp_path: Path) -> None:
    lab = up("local", name, {"file": "64m", "model": "c=4 svc=12000"})
    slow(lab, "c=4 svc=12000 rcache_svc=400 rcache_block=65536 rcache=12MiB")
    fact = lab.last_fact("volume")
    assert fact is not None
    words = ("--over", "range", "--points", "4m,6m,8m,12m,16m,24m,32m,48m", "--iodepth", "4", "--budget", "60s")
    line = [sys.executable, "-m", "strata", "scale", f"file:{fact['file']}", *words, "--rw", "randread", "--bs", "64k"]
    done = subprocess.run(
        [*line, "--no-open-loop", "--progress", "none", "--json", "--store", str(tmp_path / "store")],
        capture_output=True, text=True, env=os.environ | lab.environment, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (curve,) = json.loads(done.stdout)["curves"]
    print(curve["cache"])
    assert curve["cache"] is not None, json.loads(done.stdout)["points"]
    assert curve["cache"]["size"]["value"] == pytest.approx(12 << 20, rel=0.2), curve["cache"]


def test_of_a_task_that_storage_nodes_carry_most_scales_and_of_another_nothing(name: str) -> None:
    lab = up("vm-disks", name, {"disks": "1", "data": "16m", "nodes": "1", "cache": "8m", "medium": "slow"})
    fact = lab.last_fact("volume")
    assert fact is not None
    read = f"dd if={fact['file']} of=/dev/null bs=1M count=12 iflag=direct status=none"
    line = [sys.executable, "-m", "strata", "scale", str(lab.data / "stack.toml"), "--over", "storage-nodes"]
    line += ["--points", "1,2", "--budget", "60s", "--task", f"checksum={read}", "--task", "sleep=sleep 0.5"]
    done = subprocess.run(
        [*line, "--progress", "none", "--json"], capture_output=True, text=True, env=os.environ | lab.environment,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    checksum, sleep = json.loads(done.stdout)["tasks"]
    print(checksum, sleep)
    assert checksum["part"]["value"] > 0.6 and checksum["measured"][0]["n"] >= 3, checksum
    assert sleep["part"]["value"] < 0.15, sleep
    assert now(lab, "storage-nodes") == 1
