"""What is left of a run that is ended in its experiment, and of one whose place has changed."""

from __future__ import annotations

import json
import signal
import sqlite3
import time
from pathlib import Path

import pytest
from commands import Process, started
from tiers import rest_in_ci

ATTEMPTS = 3
CELLS = ("--workloads", "*read-*", "--rounds", "3", "--runtime", "150ms", "--ramp-time", "30ms", "--progress", "none")


@pytest.mark.first
@pytest.mark.ci
@pytest.mark.parametrize(("sig", "code"), [(signal.SIGKILL, -9), (signal.SIGINT, 130)])
def test_the_verdict_outlives_its_experiment(strata, own_state: Path, sig: signal.Signals, code: int) -> None:
    """A busy machine may be told nothing of, or in its noise a queue predicts what the cap does in every variant (about
    one run in ten): then there is no experiment to end, and it is asked again."""
    store = own_state / "strata" / "strata.db"
    for _ in range(ATTEMPTS):
        process = started("diagnose", "--demo", "capped-target", *CELLS)
        try:
            begun = _waited(store, process, "SELECT count(*) FROM cells WHERE kind = 'confirm'")
            if begun:
                process.send_signal(sig)
            _, said = process.communicate(timeout=60)
        finally:
            process.kill()
            process.wait()
        if begun:
            break
        assert process.returncode in (0, 4), said
    assert process.returncode == code, said
    assert "Traceback" not in said
    done = strata("report", "--json")
    assert done.returncode in (0, 4), done.stderr
    assert json.loads(done.stdout)["verdict"]["kind"]
    if sig == signal.SIGKILL:
        # Its data is in memory, and nobody else would free it.
        cleaned = strata("clean")
        assert "demo.dat" in cleaned.stdout + cleaned.stderr


@pytest.mark.ci
@pytest.mark.parametrize(
    ("command", "length"),
    rest_in_ci(
        [("diagnose", ("--rounds", "20", "--runtime", "100ms", "--ramp-time", "0")), ("measure", ("--budget", "20m"))],
        every_day=1,
    ),
)
def test_a_layer_that_is_gone_at_the_resume_is_named(
    strata, disk: Path, own_state: Path, command: str, length: tuple[str, ...]
) -> None:
    store = own_state / "strata" / "strata.db"
    words = (*(("--matrix", "small") if command == "measure" else ()), *length, "--size", "32m", "--progress", "none")
    process = started(command, disk, *words)
    try:
        assert _waited(store, process, "SELECT count(*) FROM cells")
    finally:
        process.kill()
        process.wait()
    with sqlite3.connect(store) as db:
        document = json.loads(db.execute("SELECT document FROM runs").fetchone()[0])
        layers = document["plan"]["stack"]["layers"]
        # As a run that began with the right to read the disk raw.
        layers[:] = [x for x in layers if x["name"] != "disk"]
        layers.insert(0, {"name": "disk", "endpoint": "block:/dev/there-is-none"})
        db.execute("UPDATE runs SET document = ?", (json.dumps(document),))
    done = strata("measure", "--resume", "--progress", "none")
    assert done.returncode == 1, done.stderr
    assert "disk can no longer be measured" in done.stderr
    assert "hint:" in done.stderr


def _waited(store: Path, process: Process, count: str) -> bool:
    """Until there are such rows; False when the process ends before."""
    deadline = time.monotonic() + 180
    while process.poll() is None:
        assert time.monotonic() < deadline
        if store.exists():
            with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as db:
                try:
                    if db.execute(count).fetchone()[0]:
                        return True
                except sqlite3.OperationalError:
                    pass
        time.sleep(0.02)
    return False
