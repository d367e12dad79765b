"""Preconditioning on a real file: bounded, recorded, and only where Strata may write."""

from __future__ import annotations

import json

import pytest
from commands import measured, strata, working_disk

from strata import units

WRITE = ("--rw", "randwrite", "--iodepth", 4, "--size", "16m", "--runtime", "50ms")


def test_it_is_bounded_by_bytes_and_recorded() -> None:
    with working_disk() as disk:
        document = measured(f"file:{disk}/x.dat", *WRITE, "--precondition", "5s", "--precondition-bytes", "1m")
    done = document["precondition"]
    assert done["ended"] in ("bytes", "steady")
    assert 0 < sum(r["bytes"] for r in done["rounds"]) <= units.MIB
    if done["ended"] == "bytes":
        assert sum(r["bytes"] for r in done["rounds"]) == units.MIB


def test_several_targets_are_written_together() -> None:
    with working_disk() as disk:
        words = (f"file:{disk}/x.dat", "--target", f"file:{disk}/y.dat", *WRITE, "--precondition-bytes", "1m")
        document = measured(*words)
    assert 0 < sum(r["bytes"] for r in document["precondition"]["rounds"]) <= units.MIB
    assert len(document["result"]["effective"]["targets"]) == 2


def test_it_is_bounded_by_time_and_says_what_it_came_to() -> None:
    with working_disk() as disk:
        done = strata("measure", f"file:{disk}/x.dat", *WRITE, "--precondition", "400ms", "--progress", "none")
    assert done.returncode == 0, done.stderr
    assert "preconditioning: steady after" in done.stderr or "preconditioning: not steady after" in done.stderr


@pytest.mark.parametrize("words", [("null:", *WRITE), ("block:/dev/null", *WRITE), ("file:/nowhere/x", "--rw", "read")])
def test_elsewhere_it_is_refused(words: tuple[object, ...]) -> None:
    done = strata("measure", *words, "--precondition", "1s", "--progress", "none")
    assert done.returncode == 2
    assert "a file of Strata's own" in done.stderr


def test_the_plan_counts_its_bytes_and_a_run_keeps_what_was_written() -> None:
    words = (
        "--rounds",
        1,
        "--ramp-time",
        "20ms",
        "--size",
        "16m",
        "--precondition-bytes",
        "2m",
        "--layers",
        "file system",
    )
    with working_disk() as disk:
        plan = json.loads(strata("plan", disk, *words, "--json").stdout)["plan"]
        assert plan["precondition"]["bytes_max"] == 2 * units.MIB
        refused = strata("plan", disk, *words, "--read-only")
        assert refused.returncode == 2 and "no workload writes" in refused.stderr
        words = (*words, *WRITE[:4], "--runtime", "60ms", "--cooldown", "50ms", "--progress", "none")
        ran = strata("measure", disk, *words, "--store", f"sqlite:///{disk}/runs.db", "--json")
    assert ran.returncode in (0, 4), ran.stderr
    run = json.loads(ran.stdout)["run"]
    (done,) = run["preconditions"]
    assert done["workload_key"] == "randwrite-4KiB-qd4"
    assert 0 < sum(r["bytes"] for r in done["rounds"]) <= 2 * units.MIB
    assert run["plan"]["cooldown_s"] == 0.05
    # The fill, what preconditioning may write, and the step itself.
    assert run["plan"]["bytes_written"] > 18 * units.MIB
