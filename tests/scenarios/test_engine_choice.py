"""Another generator end to end: the same commands, `--engine fio`, and every result says who made the load."""

from __future__ import annotations

import json
import math
import shutil
import signal
import sqlite3
import time
from pathlib import Path

import pytest
from commands import started

from strata.store import open_store

QUICK = ("--runtime", "150ms", "--ramp-time", "50ms", "--progress", "none")
pytestmark = pytest.mark.skipif(shutil.which("fio") is None, reason="needs fio")


def test_measure_with_fio(strata, disk: Path) -> None:
    words = (f"file:{disk}/a.dat", "--engine", "fio", "--rw", "randrw", "--rwmixread", 70, "--size", "16m", *QUICK)
    text = strata("measure", *words)
    assert text.returncode == 0, text.stderr
    assert "data path     fio-" in text.stdout
    done = strata("measure", *words, "--runtime", "1s", "--dsync", "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)["result"]
    assert result["engine"]["name"] == "fio"
    assert result["effective"]["sync"] == "dsync"
    reads, writes = result["read"]["ops"], result["write"]["ops"]
    # 70 % reads, within six standard deviations: a slow disk does few writes of this kind.
    assert reads > 0 < writes and abs(reads - 0.7 * (reads + writes)) <= 6 * math.sqrt(0.21 * (reads + writes)) + 2
    assert list(disk.iterdir()) == []


@pytest.mark.ci
@pytest.mark.first
def test_a_run_with_fio_is_resumed_with_fio_and_says_so(strata, disk: Path, own_state: Path) -> None:
    where = ("--size", "16m", "--share", "--layers", "file system,share over loopback", *QUICK)
    what = ("--workloads", "randread-8KiB-qd8,write-128*", "--rounds", "2", "--no-confirm", "--engine", "fio")
    store = own_state / "strata" / "strata.db"
    process = started("diagnose", disk, *where, *what)
    try:
        deadline = time.monotonic() + 120
        while not _measured(store):
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 130, said
    done = strata("measure", "--resume", "--json", "--progress", "none")
    assert done.returncode in (0, 4), done.stderr
    report = json.loads(done.stdout)
    run = report["run"]
    assert run["environment"]["engine"]["name"] == "fio"
    assert run["environment"]["engine"]["version"].startswith("fio-")
    assert "not by Strata's own engine" in run["message"]
    with open_store() as kept:
        # Resuming may also confirm what it found, which depends on the machine.
        cells = [c for c in kept.cells(run["id"]) if c.kind == "measure"]
    assert [c.result.engine["name"] for c in cells if c.result is not None] == ["fio"] * 6
    # Two cells at the file, one through the share: what fio cannot carry is in the plan, with the reason.
    assert [c.error for c in cells] == [None] * 6
    skipped = [c["skip"] for c in run["plan"]["cells"] if c["skip"]]
    assert skipped == ["fio's nbd engine does not support write-through"]
    assert set(run["generator"]["iops"]) == {"randread-8KiB-qd8", "write-128KiB-qd8-dsync"}
    assert list(disk.iterdir()) == []


def test_the_dry_run_knows_what_fio_cannot_do(strata, disk: Path) -> None:
    done = strata("plan", disk, "--share", "--size", "16m", "--engine", "fio", "--json")
    assert done.returncode == 0, done.stderr
    reasons = {c["skip"] for c in json.loads(done.stdout)["plan"]["cells"] if c["layer"] == "share over loopback"}
    assert reasons == {None, "fio's nbd engine does not support write-through"}


def test_an_engine_that_there_is_not(strata, disk: Path) -> None:
    done = strata("diagnose", disk, "--engine", "vdbench")
    assert done.returncode == 2, done.stdout
    assert "there is no engine vdbench" in done.stderr
    assert "native, fio" in done.stderr
    assert list(disk.iterdir()) == []


def _measured(store: Path) -> bool:
    if not store.exists():
        return False
    with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as db:
        try:
            return bool(db.execute("SELECT count(*) FROM cells").fetchone()[0])
        except sqlite3.OperationalError:
            return False
