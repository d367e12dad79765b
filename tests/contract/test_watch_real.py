"""`strata watch` of a real device: a command that reads one block after the other, with its trace, its issuer and its
own limit.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from commands import STRATA
from loops import MIB, checksum, image, loop, mounted, need_root, run
from tiers import rest_in_ci
from tracing import with_tracefs

from strata.app.kept import load_report

pytestmark = pytest.mark.root
READS = """
import mmap, os, sys, time
buffer = mmap.mmap(-1, 8192)
fd = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)
until = time.monotonic() + 4
at = 0
while time.monotonic() < until:
    os.preadv(fd, [buffer], at % 4096 * 8192)
    at += 1
    time.sleep(float(sys.argv[2]))
"""


@pytest.fixture
def device(tmp_path: Path) -> Iterator[str]:
    need_root()
    with loop(image(tmp_path / "image", 64 * MIB), "--direct-io=on") as made:
        yield made


def watched(device: str, tmp_path: Path, pause_s: float) -> dict[str, Any]:
    command = [sys.executable, "-c", READS, device, str(pause_s)]
    argv = with_tracefs(*STRATA, "watch", device, "--json", "--", *command)
    environment = os.environ | {"STRATA_STATE_DIR": str(tmp_path / "state")}
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False, env=environment)
    assert done.returncode in (0, 4), done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def test_reads_one_after_the_other_are_the_commands_and_come_in_order(device: str, tmp_path: Path) -> None:
    found = watched(device, tmp_path, 0.0)
    arrival = found["arrivals"][0]
    assert arrival["device"] == device.removeprefix("/dev/")
    assert arrival["lengths"][0][0] == 8192
    assert arrival["summary"]["read"]["windowed_share"] > 0.9
    reader = next(i for i in found["issuers"] if i["watched"])
    assert reader["read_bytes"] > 0
    assert arrival["sharers"][0]["pid"] == reader["pid"]
    row = next(r for r in found["layers"] if r["kind"] == "device")
    assert row["iops"] > 10
    assert row["in_flight"] < 1.3
    assert found["verdict"]["layer"] in ("application", None)
    assert found["ran"]["status"] == 0


@pytest.mark.ci
def test_a_command_that_sleeps_between_its_reads_limits_itself(device: str, tmp_path: Path) -> None:
    verdict = watched(device, tmp_path, 0.02)["verdict"]
    assert (verdict["kind"], verdict["layer"]) == ("application", "application")
    assert "requests nothing" in verdict["headline"]


WRITTEN = 6
"""Of the counters: sectors of 512 bytes that were written."""


@pytest.fixture
def in_memory() -> Iterator[tuple[str, Path]]:
    """(an idle device in memory, its file system): nobody else's writeback reaches it."""
    need_root()
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="strata-test-") as folder:
        home = Path(folder)
        with loop(image(home / "image", 256 * MIB)) as made:
            run("mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", made)
            with mounted(made, home / "fs") as fs:
                (fs / "data").write_bytes(os.urandom(32 * MIB))
                run("sync", "-f", str(fs))
                yield made, fs


def counted(device: str) -> list[int]:
    """All that the kernel has counted of the device's requests: reads, writes, discards, flushes, and their times."""
    return [int(x) for x in Path(f"/sys/block/{Path(device).name}/stat").read_text().split()]


def at_rest(device: str) -> list[int]:
    """The counters, once they have stood still for a second."""
    deadline, before = time.monotonic() + 60, counted(device)
    while True:
        time.sleep(1)
        if (now := counted(device)) == before:
            return now
        assert time.monotonic() < deadline, f"{device} does not come to rest"
        before = now


@pytest.mark.ci
@pytest.mark.parametrize("what", rest_in_ci(["device", "directory", "file"], ["file"]))
def test_a_watching_adds_no_request_to_what_it_watches(in_memory: tuple[str, Path], what: str, tmp_path: Path) -> None:
    device, fs = in_memory
    where = {"device": device, "directory": fs, "file": fs / "data"}[what]
    argv = with_tracefs(*STRATA, "watch", where, "--for", "4s", "--json")
    environment = os.environ | {"STRATA_STATE_DIR": str(tmp_path / "state")}
    # Others look at every device now and then (a scan for volumes), and a journal commits: what a watching added would
    # be there each time.
    for _ in range(5):
        before = at_rest(device)
        done = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False, env=environment)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["verdict"]["kind"] == "idle"
        if counted(device) == before:
            break
    else:
        pytest.fail(f"{device}: {before} before, {counted(device)} after, each of five times")
    # These are the counters that one request changes.
    run("dd", f"if={device}", "of=/dev/null", "bs=4096", "count=1", "iflag=direct", "status=none")
    assert counted(device) != before


@pytest.mark.slow
def test_a_verdict_is_proved_by_a_diagnosis_with_the_observed_load_on_stratas_own_file(
    in_memory: tuple[str, Path], tmp_path: Path
) -> None:
    device, fs = in_memory
    before = checksum(fs / "data")
    store = f"sqlite:///{tmp_path / 'runs.db'}"
    command = [sys.executable, "-c", READS, str(fs / "data"), "0"]
    argv = with_tracefs(*STRATA, "watch", fs, "--then-confirm", "--store", store, "--json", "--", *command)
    environment = os.environ | {"STRATA_STATE_DIR": str(tmp_path / "state")}
    written = at_rest(device)[WRITTEN]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=240, check=False, env=environment)
    assert done.returncode in (0, 4), done.stderr
    proof = json.loads(done.stdout)["confirm"]
    run("sync", "-f", str(fs))
    written = (counted(device)[WRITTEN] - written) * 512
    # What was observed is what was driven, and nothing else.
    found = load_report(proof["run"], store)
    assert {c.workload.key for c in found.analysis.cells} == {proof["workload_key"]}
    assert {(c.workload.rw, c.workload.bs) for c in found.analysis.cells} == {("read", 8192)}
    assert found.diagnosis.verdict.model_dump(mode="json", exclude_none=True) == proof["verdict"]
    # Its own file is gone, the application's is as it was, and the bytes are those that were announced.
    assert sorted(p.name for p in fs.iterdir()) == ["data", "lost+found"]
    assert checksum(fs / "data") == before
    assert MIB < written < proof["writes_bytes"] + 8 * MIB
