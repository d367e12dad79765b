"""The sample pipeline of `examples/ci`, run as it stands there: a baseline, a healthy storage, one that lost 30 %."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from xml.etree import ElementTree

import pytest
from commands import ROOT, target

CI = ROOT / "examples" / "ci"


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory of a job, on a machine on which `strata` is installed."""
    (tmp_path / "bin").mkdir()
    command = tmp_path / "bin" / "strata"
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m strata "$@"\n')
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{command.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("STRATA_STORE", raising=False)
    for name, value in {"BASELINE_RUNS": "3", "RUNS": "4", "NOISE": "4%", "OUT": str(tmp_path)}.items():
        monkeypatch.setenv(name, value)
    return tmp_path


@contextmanager
def storage(job: Path, service_time: str) -> Iterator[str]:
    """Two servers, each slow enough that a busy machine hardly shows; always at the same address."""
    shape = ("--service-threads", 2, "--service-time", service_time)
    with target("--memory", "16m", "--writable", *shape, "--socket", job / "s") as (uri, _):
        yield uri


def ran(*words: str, job: Path, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words, cwd=job, env=os.environ | more, capture_output=True, text=True, timeout=250, check=False
    )


def gate(where: str, job: Path) -> subprocess.CompletedProcess[str]:
    long_enough = ("--until", "2%", "--until-percentile", "none", "--until-min", "500ms", "--runtime", "1s")
    cell = ("--iodepth", "4", "--ramp-time", "50ms", *long_enough)
    return ran("sh", str(CI / "gate.sh"), where, *cell, job=job)


@pytest.mark.ci
@pytest.mark.first
@pytest.mark.calm
def test_the_script_passes_what_is_healthy_and_stops_what_lost_30_percent(job: Path) -> None:
    with storage(job, "20ms") as uri:
        first = gate(uri, job)
        assert first.returncode == 0, first.stderr
        assert "main" in first.stdout and not (job / "gate.xml").exists()
        healthy = gate(uri, job)
        assert healthy.returncode in (0, 4), healthy.stdout + healthy.stderr
        suite = ElementTree.parse(job / "gate.xml").getroot()
        assert (suite.get("tests"), suite.get("failures")) == ("1", "0")
    with storage(job, "28571us") as uri:
        slow = gate(uri, job)
    assert slow.returncode == 3, slow.stdout + slow.stderr
    suite = ElementTree.parse(job / "gate.xml").getroot()
    assert suite.get("failures") == "1" and suite.find(".//failure") is not None
    assert "🔴" in (job / "gate.md").read_text()


@pytest.mark.parametrize(("status", "ends", "warns"), [(0, 0, False), (3, 3, False), (4, 0, True)])
def test_the_workflow_step_keeps_a_regression_and_warns_of_noise(
    job: Path, status: int, ends: int, warns: bool
) -> None:
    (job / "examples" / "ci").mkdir(parents=True)
    stand_in = f'echo "asked for $1"; echo "# report" > gate.md; exit {status}\n'
    (job / "examples" / "ci" / "gate.sh").write_text(stand_in)
    done = ran("bash", "-e", "-c", step(), job=job, STORAGE="/mnt/x", GITHUB_STEP_SUMMARY=str(job / "summary"))
    assert done.returncode == ends and ("::warning::" in done.stdout) is warns
    assert "asked for /mnt/x" in done.stdout and (job / "summary").read_text() == "# report\n"


def step() -> str:
    """The shell of the workflow's one step that runs something, as GitHub would run it."""
    _, _, rest = (CI / "github.yml").read_text().partition("        run: |\n")
    assert rest, "the workflow runs nothing"
    body = []
    for line in rest.splitlines():
        if line.strip() and not line.startswith(" " * 10):
            break
        body.append(line)
    return textwrap.dedent("\n".join(body))


def test_the_script_says_what_it_wants(job: Path) -> None:
    done = ran("sh", str(CI / "gate.sh"), job=job)
    assert done.returncode != 0 and "usage: gate.sh WHERE" in done.stderr


@pytest.mark.ci
def test_the_script_stops_where_nothing_can_be_measured(job: Path) -> None:
    done = gate("nowhere://at/all", job)
    assert done.returncode not in (0, 3, 4) and "nowhere" in done.stderr
