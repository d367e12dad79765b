"""Every run is kept, whatever was measured: with its name and note, its pages, found again, and taken away again."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from invoked import strata
from tiers import rest_in_ci

SHORT = ("--runtime", "60ms", "--ramp-time", "0", "--progress", "none")
WAYS = {
    "endpoint": ("measure", "null:", *SHORT),
    "until": ("measure", "null:", "--until", "50%", "--until-min", "20ms", *SHORT),
    "several": ("measure", "file:{disk}/a", "--target", "file:{disk}/b", "--size", "8m", *SHORT),
    "matrix": ("measure", "null:", "--matrix", "bs=4k;iodepth=1;rw=randread", "--budget", "1s", "--progress", "none"),
    "directory": ("measure", "{disk}", "--layers", "file system", "--rw", "randread", "--rounds", "1", *SHORT,
                  "--size", "16m"),
    "demo": ("diagnose", "--demo", "far-wire", "--rounds", "1", "--workloads", "randread-8KiB-qd8", "--no-confirm",
             *SHORT),
}  # fmt: skip


def listed(*words: object) -> list[dict[str, Any]]:
    done = strata("runs", "--json", *words)
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)["runs"]
    return found


@pytest.mark.parametrize("way", rest_in_ci(WAYS, every_day=2))
def test_outputs_are_written_and_the_run_is_kept(disk: Path, tmp_path: Path, way: str) -> None:
    page, text, store = (tmp_path / name for name in ("r.html", "r.md", "s.db"))
    words = [word.format(disk=disk) for word in WAYS[way]]
    done = strata(
        *words, "--html", page, "--markdown", text, "--json", "--store", store, "--name", "rack 7", "--note", "new disk"
    )
    assert done.returncode in (0, 4), done.stderr
    assert json.loads(done.stdout)
    assert page.read_text().startswith("<!doctype html>") and text.read_text().startswith("#")
    assert done.stderr.count("report: ") == 2
    (kept,) = listed("--store", store, "--name", "rack ?", "--demos")
    assert (kept["name"], kept["note"], kept["status"]) == ("rack 7", "new disk", "done")
    if way != "matrix":
        assert all("rack 7" in written.read_text().split("</details>")[-1] for written in (page, text))
    assert kept["host"] and kept["endpoints"]
    again = strata("report", kept["id"], "--store", store)
    assert again.returncode == 0, again.stderr
    assert again.stdout


def test_a_measurement_of_an_endpoint_is_a_run_like_others(disk: Path) -> None:
    ids = []
    for _ in range(2):
        done = strata("measure", f"file:{disk}/x", "--size", "8m", "--bs", "8k", *SHORT)
        assert done.returncode == 0, done.stderr
        ids.append(done.stderr.partition("stored; show it again: strata report ")[2].split()[0])
    assert [run["id"] for run in listed()] == ids[::-1]
    compared = json.loads(strata("compare", *ids, "--json").stdout)
    assert len(compared["cells"]) == 1
    history = json.loads(strata("history", "file/randread-8KiB-qd1", "--json").stdout)
    assert [p["run"] for p in history["cells"][0]["points"]] == ids


def test_the_list_can_be_narrowed_and_hides_demos() -> None:
    assert "no runs yet" in strata("runs").stdout
    for name in ("first", "second"):
        assert strata("measure", "null:", *SHORT, "--name", name).returncode == 0
    assert strata(*WAYS["demo"]).returncode in (0, 4)
    assert [run["name"] for run in listed()] == ["second", "first"]
    assert len(listed("--demos")) == 3
    assert [run["name"] for run in listed("--name", "fi*")] == ["first"]
    assert len(listed("--stack", "null:")) == 2 and listed("--stack", "nul_:") == []
    assert listed("--host", "another") == []
    assert listed("--since", "2100-01-01") == [] and len(listed("--since", "1h")) == 2
    assert strata("runs", "--since", "yesterday").returncode == 2
    text = strata("runs").stdout
    assert "second" in text and "demo-" not in text


def test_runs_are_deleted_but_not_what_a_baseline_stands_on() -> None:
    for _ in range(3):
        assert strata("measure", "null:", *SHORT).returncode == 0
    third, second, first = (run["id"] for run in listed())
    assert strata("baseline", "save", "main", first).returncode == 0
    refused = strata("runs", "delete", first, second, "--yes")
    assert refused.returncode == 2 and "baseline main" in refused.stderr
    assert len(listed()) == 3
    unasked = strata("runs", "delete", second)
    assert unasked.returncode == 2 and "--yes" in unasked.stderr
    gone = strata("runs", "delete", second, "--yes", "--json")
    assert gone.returncode == 0, gone.stderr
    assert json.loads(gone.stdout)["deleted"] == [second]
    assert [run["id"] for run in listed()] == [third, first]
    assert strata("report", second).returncode == 2
    assert strata("runs", "--limit", "5", "delete", third, "--yes").returncode == 2


@pytest.mark.parametrize(("answer", "left"), rest_in_ci([("n", 1), ("y", 0)], every_day=1))
def test_on_a_terminal_it_asks(answer: str, left: int) -> None:
    assert strata("measure", "null:", *SHORT).returncode == 0
    (run,) = listed()
    ours, theirs = pty.openpty()
    try:
        argv = [sys.executable, "-m", "strata", "runs", "delete", run["id"]]
        asked = subprocess.Popen(argv, stdin=theirs, stderr=theirs, stdout=subprocess.DEVNULL)
        os.write(ours, f"{answer}\n".encode())
        assert asked.wait(60) == 0
    finally:
        os.close(ours)
        os.close(theirs)
    assert len(listed()) == left


def test_a_deleted_run_leaves_no_history() -> None:
    assert strata("measure", "null:", *SHORT).returncode == 0
    (run,) = listed()
    assert strata("runs", "delete", run["id"], "--yes").returncode == 0
    assert strata("history", "--all").returncode == 2
