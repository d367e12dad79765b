"""What goes wrong first: the words of a new user, answered with what is wrong and the next step, never a traceback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tiers import rest_in_ci

MEASURED = ("--runtime", "100ms", "--progress", "none")


@pytest.mark.parametrize(
    "words",
    [
        ("diagnose", ".", "--size", "1m"),
        ("diagnose", ".", "--rounds", "0"),
        ("measure", ".", "--rounds", "101"),
        ("measure", ".", "--interval", "0"),
        ("plan", ".", "--runtime", "0"),
        ("scale", "null:", "--over", "clients", "--size", "4m"),
        ("stage", "stack.toml", "--measure", "--rounds", "0"),
        ("measure", ".", "--budget", "30s"),
        ("diagnose", ".", "--no-confirm", "--rounds", "3", "--budget", "30s"),
        ("measure",),
        ("diagnose",),
        ("target",),
        ("measure", "nbd://[::1", *MEASURED),
        ("measure", "nbd://host:99999/", *MEASURED),
        ("diagnose", "/there/is/no/such/path"),
    ],
    ids=" ".join,
)
def test_words_that_cannot_be_carried_out(strata, words: tuple[str, ...]) -> None:
    done = strata(*words)
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert "::" not in done.stderr.replace("[::1", "")
    assert "hint: " in done.stderr


@pytest.mark.parametrize(
    "content",
    [
        b"\xff\xfe",
        b'stack = "volume"',
        b"[stack",
        b'[stack]\nname = "v"\nowner = 1\n[[layer]]\nname = "a"\nendpoint = "file:/x"',
        b'layer = 4\n[stack]\nname = "v"',
    ],
)
def test_a_stack_file_that_is_none(strata, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "stack.toml"
    path.write_bytes(content)
    done = strata("plan", path)
    assert done.returncode == 2, done.stderr
    assert str(path) in done.stderr
    assert "Traceback" not in done.stderr


def test_nobody_listens(strata) -> None:
    done = strata("measure", "nbd://127.0.0.1:1/x", *MEASURED)
    assert done.returncode == 1, done.stderr
    assert "[Errno" not in done.stderr
    assert "hint: no server is listening there" in done.stderr


def test_the_length_of_intervals_holds_for_a_directory_too(strata, disk: Path) -> None:
    words = ("--rw", "randread", "--rounds", "2", "--runtime", "300ms", "--ramp-time", "0", "--interval", "100ms")
    done = strata("measure", disk, *words, "--size", "16m", "--json", "--progress", "none")
    assert done.returncode in (0, 4), done.stderr
    assert json.loads(done.stdout)["run"]["plan"]["interval_s"] == 0.1


@pytest.mark.parametrize("command", ["survey", "diagnose"])
def test_a_path_that_is_not_there_is_a_mistake_in_the_words(strata, tmp_path: Path, command: str) -> None:
    done = strata(command, tmp_path / "nowhere")
    assert done.returncode == 2, done.stderr
    assert "it does not exist" in done.stderr and "hint: list what exists: ls " in done.stderr


@pytest.mark.root
@pytest.mark.parametrize(
    "words", rest_in_ci([["survey", "{}"], ["diagnose", "{}"], ["measure", "file:{}/f", *MEASURED]], every_day=1)
)
def test_a_folder_that_may_not_be_entered(tmp_path: Path, words: list[str]) -> None:
    inside = tmp_path / "closed" / "inside"
    inside.mkdir(parents=True)
    inside.parent.chmod(0o700)
    argv = [w.format(inside) for w in words]
    # In this very process: an ordinary user may be unable to read the interpreter of the tests.
    code = f"""
import os, sys
import strata.app.diagnose, strata.app.measure, strata.app.survey, strata.report.plain, strata.report.survey_text
from strata.cli import main
os.setgroups([]); os.setresgid(65534, 65534, 65534); os.setresuid(65534, 65534, 65534)
sys.argv[1:] = {argv!r}
main()
"""
    environ = {**os.environ, "XDG_STATE_HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environ, check=False)
    assert done.returncode == 1, done.stderr
    assert "permission denied" in done.stderr
    assert "Traceback" not in done.stderr
