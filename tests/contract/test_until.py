"""``measure --until`` with the real engine: it ends itself, with whole intervals, and says why."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from commands import measured, strata, target, working_disk

from strata.store import open_store


@pytest.fixture(scope="module")
def capped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """1000 requests a second and no more: as steady as a target can be."""
    socket: Path = tmp_path_factory.mktemp("capped") / "s"
    with target("--memory", "16m", "--writable", "--iops", 1000, "--socket", socket) as (uri, _):
        yield uri


@pytest.mark.alone
def test_a_steady_target_is_measured_for_as_long_as_it_needs(capped: str) -> None:
    words = ("--until", "5%", "--until-percentile", "none", "--until-min", "1s", "--runtime", "20s")
    for _ in range(3):
        document = measured(capped, "--iodepth", 4, *words, status=(0, 4))
        course, result = document["course"], document["result"]
        # Bins under way at the end may widen it, and the cap makes up for no stall: a wrong rule is wrong each time.
        if course["reached"] and course["iops"]["high"] >= 1000 * 0.98:
            break
    assert course["ended"] == "precision" and course["reached"]
    assert document["trouble"] is None
    assert 1e9 <= result["measured_ns"] < 20e9
    assert course["iops"]["low"] <= 1000 * 1.02 and course["iops"]["high"] >= 1000 * 0.98
    assert document["summary"]["iops"] == course["iops"]
    # Ended with the interval: none of them is a stump, and they are all of it.
    assert all(i["end_ns"] - i["start_ns"] == 100_000_000 for i in result["intervals"])
    assert sum(i["read"]["ops"] for i in result["intervals"]) == result["read"]["ops"]


def test_a_byte_budget_ends_it_short_of_the_aim(capped: str) -> None:
    words = ("--until", "0.1%", "--until-min", "10s", "--runtime", "20s", "--until-bytes", "4m")
    for _ in range(3):
        document = measured(capped, "--iodepth", 4, *words, status=4)
        # 4 MiB are a second: of a machine that stood still in it there are too few intervals to tell anything.
        if document["course"] is not None:
            break
    assert document["course"]["ended"] == "byte budget" and document["course"]["reached"] is False
    assert document["trouble"] is None
    assert document["result"]["measured_ns"] < 10e9
    assert 2 << 20 <= document["result"]["read"]["bytes"] <= 5 << 20


def test_the_maximum_ends_what_never_becomes_precise(capped: str) -> None:
    words = ("--until", "0.05%", "--until-percentile", "99.99:1%", "--until-min", "1s", "--runtime", "1500ms")
    document = measured(capped, "--iodepth", 4, *words, status=4)
    assert document["course"]["ended"] == "maximum time" and document["course"]["reached"] is False
    assert document["trouble"] is None


@pytest.mark.ci
def test_what_earlier_runs_showed_is_the_prior_of_the_next(capped: str) -> None:
    words = ("--iodepth", 4, "--until", "10%", "--until-percentile", "none", "--until-min", "500ms", "--runtime", "5s")
    first = measured(capped, *words, status=(0, 4))
    assert first["earlier"] is None and first["course"]["between"] is None
    matrix = measured(capped, "--matrix", "bs=4k,16k;iodepth=2,4;rw=randread", "--budget", "4s")
    earlier = measured(capped, *words, status=(0, 4))["earlier"]
    assert earlier["runs"] == [matrix["run"], first["run"]] and earlier["variance_s"] > 0


@pytest.mark.ci
def test_three_runs_of_it_tell_the_fourth_what_equal_starts_differ_by(capped: str) -> None:
    words = ("--iodepth", 4, "--until", "10%", "--until-percentile", "none", "--until-min", "500ms", "--runtime", "5s")
    cpu = min(os.sched_getaffinity(0))
    words += ("--cpus", cpu)
    runs = [measured(capped, *words, status=(0, 4)) for _ in range(3)]
    assert [r["course"]["between"] for r in runs] == [None, None, None]
    last = measured(capped, *words, status=(0, 4))
    assert last["earlier"]["between_df"] == 2 and last["course"]["between"] == last["earlier"]["between"]
    # Another cell of the same target does not know what runs of this one differ by.
    assert measured(capped, "--bs", "8k", *words, status=(0, 4))["course"]["between"] is None
    kept = json.loads(strata("report", last["run"], "--json").stdout)
    assert kept["run"]["id"] == last["run"] and kept["cells"][0]["iops"] == last["summary"]["iops"]
    assert kept["run"]["plan"]["cells"][0]["workload"] == last["workload"]
    assert kept["run"]["plan"]["placement"]["cpus"] == [cpu]
    assert (
        kept["verdict"]["kind"] == "inconclusive"
        and "layer" in kept["verdict"]["explanation"] + kept["verdict"]["headline"]
    )
    history = json.loads(strata("history", "nbd/*qd4*", "--json").stdout)
    points = {c["workload_key"]: [p["run"] for p in c["points"]] for c in history["cells"]}
    assert [*(r["run"] for r in runs), last["run"]] in points.values()


def test_without_an_aim_no_noise_is_told_and_a_store_in_trouble_costs_nothing(capped: str, tmp_path: Path) -> None:
    plain = measured(capped, "--runtime", "300ms", "--store", tmp_path / "a.db")
    kept = json.loads(strata("report", plain["run"], "--json", "--store", tmp_path / "a.db").stdout)
    assert kept["cells"][0]["iops"] == plain["summary"]["iops"]
    assert open_store(str(tmp_path / "a.db")).load_run(plain["run"]).pooled is None
    (tmp_path / "b.db").mkdir()
    words = ("--iodepth", 4, "--until", "10%", "--until-percentile", "none", "--until-min", "500ms", "--runtime", "5s")
    done = measured(capped, *words, "--store", tmp_path / "b.db", status=(0, 4))
    assert done["run"] is None and "b.db" in done["unkept"]


def test_of_a_file_the_platform_is_remembered_for_the_comparison() -> None:
    words = ("--size", "8m", "--until", "20%", "--until-percentile", "none", "--until-min", "500ms", "--runtime", "1s")
    with working_disk() as disk:
        a, b = (measured(f"file:{disk}/x.dat", *words, status=(0, 4))["run"] for _ in range(2))
    document = json.loads(strata("compare", a, b, "--json").stdout)
    fields = {f["name"]: (f["a"], f["b"]) for f in document["environment"]}
    assert {"devices", "memory: total", "CPU: sockets"} <= set(fields)
    assert fields["file system: kind"][0] == fields["file system: kind"][1] != (None, None)
