"""From a command line of another tool to a plan, a file, and the plan of that file."""

from __future__ import annotations

import json
from pathlib import Path


def test_a_plan_of_what_another_tool_ran(strata, tmp_path: Path) -> None:
    to = tmp_path / "theirs.toml"
    words = ("plan", tmp_path, "--size", "64m", "--from-trace", "diskspd.exe -b8K -o8 -t4 -r -w30 -d60 -Sh -Z1M x")
    done = strata(*words, "--write-profile", to)
    assert done.returncode == 0, done.stderr
    assert "random 70/30" in done.stdout and "4 threads" in done.stdout
    assert "note: not part of the workload, ignored: -d60" in done.stderr and str(to) in done.stderr

    as_json = strata(*words, "--json")
    of_file = strata("plan", tmp_path, "--size", "64m", "--profile", to, "--json")
    first, second = ([c["workload"] for c in json.loads(done.stdout)["plan"]["cells"]] for done in (as_json, of_file))
    assert first == second
    assert first[0]["threads"] == 4


def test_words_that_contradict(strata, tmp_path: Path) -> None:
    fio = ("--from-trace", "fio --rw=read")
    kept = ("--write-profile", tmp_path / "x.toml")
    for words in (kept, (*fio, *kept, "--profile", "vdi"), (*fio, "--write-profile", tmp_path / "x")):
        done = strata("plan", tmp_path, *words)
        assert done.returncode == 2 and "hint: " in done.stderr, done.stderr
    assert not list(tmp_path.iterdir())
