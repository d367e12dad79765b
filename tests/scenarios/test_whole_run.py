"""The main job on this machine's own storage, and what survives when it is cut off."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from loops import unmount
from tiers import rest_in_ci

ROOT = Path(__file__).resolve().parents[2]
SHORT = ("--rounds", "3", "--runtime", "100ms", "--ramp-time", "20ms", "--size", "64m")
FEW = ("--workloads", "randread-8KiB-qd8,write-*", "--no-confirm")
"""Where the test asks what is kept, not what is concluded."""


@pytest.mark.first
def test_the_main_job_end_to_end(strata, disk: Path, tmp_path: Path) -> None:
    page, text = tmp_path / "report.html", tmp_path / "report.md"
    # With its experiments. All workloads as shipped are the demos'.
    words = (*SHORT, "--rounds", "2", "--runtime", "250ms", "--workloads", "randread-8KiB-*,write-*")
    done = strata("diagnose", disk, "--share", *words, "--json", "--html", page, "--markdown", text)
    assert done.returncode in (0, 4), done.stderr
    report = json.loads(done.stdout)
    assert report["schema"] == "strata.report/1"
    assert report["verdict"]["kind"]
    layers = [layer["name"] for layer in report["run"]["plan"]["stack"]["layers"]]
    assert layers[-2:] == ["file system", "share over loopback"]
    assert report["cells"]
    assert all(cell["iops"]["n"] == 2 for cell in report["cells"])
    assert not re.search(r"""(src|href)=["']?(https?:)?//""", page.read_text()), "the page loads nothing"
    assert text.read_text().startswith("#") or "|" in text.read_text()
    assert list(disk.iterdir()) == [], "the test file is removed"
    again = strata("report", "--json", "--html", page, "--markdown", text)
    assert again.returncode == 0, "what Strata wrote it may replace"
    assert json.loads(again.stdout)["verdict"] == report["verdict"]


def test_terminal_report_fits_80_columns(strata, disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    done = strata("diagnose", disk, *SHORT, "--workloads", "randread-*", "--no-confirm")
    assert done.returncode in (0, 4), done.stderr
    assert "VERDICT" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


@pytest.mark.ci
def test_kill_9_in_mid_run_and_resume(strata, disk: Path, own_state: Path) -> None:
    words = [sys.executable, "-m", "strata", "diagnose", str(disk), "--share", *SHORT, *FEW, "--progress", "plain"]
    victim = subprocess.Popen(words, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    store = own_state / "strata" / "strata.db"
    deadline = time.monotonic() + 120
    while _cells(store) < 5:
        assert victim.poll() is None and time.monotonic() < deadline, victim.stderr.read()  # type: ignore[union-attr]
        time.sleep(0.05)
    victim.send_signal(signal.SIGKILL)
    victim.wait()
    kept = _rows(store)
    assert len(kept) >= 5
    assert list(disk.iterdir()), "a killed process cannot clean up"
    done = strata("measure", "--resume", "--json", "--progress", "none")
    assert done.returncode in (0, 4), done.stderr
    report = json.loads(done.stdout)
    steps = len(report["run"]["plan"]["steps"])
    after = _rows(store)
    assert sum(1 for r in after if r[1] == "measure") == steps
    # What failed (no I/O while the disk stood still) is measured again.
    whole = [row for row in kept if row[3] is None]
    assert all(row in after for row in whole), "what was measured before the kill is still there, untouched"
    assert list(disk.iterdir()) == [], "the file of the killed run is gone after the resumed one"


def test_clean_removes_what_a_killed_run_left(strata, disk: Path, own_state: Path) -> None:
    words = [sys.executable, "-m", "strata", "diagnose", str(disk), *SHORT, "--progress", "none"]
    victim = subprocess.Popen(words, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while _cells(own_state / "strata" / "strata.db") < 1:
        assert victim.poll() is None and time.monotonic() < deadline
        time.sleep(0.05)
    victim.kill()
    victim.wait()
    stranger = disk / "keep.me"
    stranger.write_text("not ours")
    assert strata("clean").returncode == 0
    assert [p.name for p in disk.iterdir()] == ["keep.me"]


@pytest.mark.parametrize(
    ("sig", "code"), rest_in_ci([(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)], every_day=1)
)
def test_a_signal_stops_cleanly_and_keeps_what_was_measured(
    disk: Path, own_state: Path, sig: signal.Signals, code: int
) -> None:
    words = [sys.executable, "-m", "strata", "diagnose", str(disk), "--share", *SHORT, *FEW, "--progress", "none"]
    running = subprocess.Popen(words, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    store = own_state / "strata" / "strata.db"
    deadline = time.monotonic() + 120
    while _cells(store) < 3:
        assert running.poll() is None and time.monotonic() < deadline
        time.sleep(0.05)
    running.send_signal(sig)
    _, said = running.communicate(timeout=60)
    assert running.returncode == code, said
    assert "Traceback" not in said
    assert "strata measure --resume" in said
    assert _cells(store) >= 3
    assert list(disk.iterdir()) == []
    assert _children_of(running.pid) == []


@pytest.mark.ci
def test_a_closed_pipe_is_no_traceback(disk: Path) -> None:
    words = shlex.join([sys.executable, "-m", "strata", "diagnose", str(disk), *SHORT, *FEW, "--json"])
    words += " --progress none | head -c 1"
    done = subprocess.run(["bash", "-c", words], capture_output=True, text=True, timeout=240, check=False)
    assert "Traceback" not in done.stderr
    assert list(disk.iterdir()) == []


def test_measure_one_endpoint(strata) -> None:
    done = strata("measure", "null:", "--rw", "randread", "--iodepth", "32", "--runtime", "300ms", "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)["result"]
    assert result["engine"]["kind"] == "null"
    assert result["read"]["ops"] == sum(i["read"]["ops"] for i in result["intervals"])


@pytest.mark.root
def test_a_full_disk_ends_the_run_with_a_message(strata, tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "strata-test", str(small)], check=True)
    try:
        done = strata(
            "measure", f"file:{small}/x.dat", "--size", "64m", "--rw", "write", "--runtime", "200ms", "--buffered"
        )
        assert done.returncode == 1, done.stderr
        assert "hint:" in done.stderr
        assert list(small.iterdir()) == []
    finally:
        unmount(small)


def _rows(store: Path) -> list[tuple[object, ...]]:
    if not store.exists():
        return []
    with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as db:
        try:
            return db.execute("SELECT step_order, kind, result, error FROM cells ORDER BY step_order").fetchall()
        except sqlite3.OperationalError:
            return []


def _cells(store: Path) -> int:
    return len(_rows(store))


def _children_of(pid: int) -> list[str]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid or int(fields[3]) == pid:
            found.append(stat.parent.name)
    return [f for f in found if f != str(os.getpid())]
