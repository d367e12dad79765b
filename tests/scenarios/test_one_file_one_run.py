"""The test file of a run that lives, was kept, or was replaced: nobody else's bytes are touched."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from commands import Process, started

SHORT = ("--layers", "file system", "--workloads", "write-128*", "--size", "32m", "--no-confirm")
TIMES = ("--runtime", "200ms", "--ramp-time", "0", "--progress", "none")


@contextmanager
def running(disk: Path, store: Path, *words: str) -> Iterator[Process]:
    """A run of which at least one cell is in the store."""
    process = started("diagnose", disk, *SHORT, *TIMES, *words)
    try:
        deadline = time.monotonic() + 120
        while not _measured(store):
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.02)
        yield process
    finally:
        process.kill()
        process.communicate()


def test_a_run_that_lives_is_not_resumed(strata, disk: Path, own_state: Path) -> None:
    with running(disk, own_state / "strata" / "strata.db", "--rounds", "100") as process:
        done = strata("measure", "--resume", "--progress", "none")
        assert done.returncode == 1, done.stderr
        assert f"process {process.pid} is measuring it now" in done.stderr
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
        assert process.returncode == 130, said
    assert list(disk.iterdir()) == []


def test_a_kept_file_is_kept_by_the_resumed_run_too(strata, disk: Path, own_state: Path) -> None:
    with running(disk, own_state / "strata" / "strata.db", "--rounds", "10", "--keep") as process:
        process.kill()
        process.wait()
    kept = list(disk.iterdir())
    assert len(kept) == 1
    done = strata("measure", "--resume", "--progress", "none")
    assert done.returncode in (0, 4), done.stderr
    assert list(disk.iterdir()) == kept


def test_a_file_that_took_the_place_of_ours_is_not_written(strata, disk: Path, own_state: Path) -> None:
    precious = disk / "precious"
    precious.write_bytes(content := os.urandom(4 << 20))
    with running(disk, own_state / "strata" / "strata.db", "--rounds", "10") as process:
        ours = next(p for p in disk.iterdir() if p.name.startswith("strata-"))
        precious.replace(ours)
        _, said = process.communicate(timeout=60)
        # It went on with the file that it had, which has no name any more.
        assert process.returncode in (0, 4), said
    assert ours.read_bytes() == content
    assert f"{ours} was removed in the meantime" in " ".join(strata("report").stdout.split())


def _measured(store: Path) -> bool:
    if not store.exists():
        return False
    with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as db:
        try:
            return bool(db.execute("SELECT count(*) FROM cells").fetchone()[0])
        except sqlite3.OperationalError:
            return False


def test_a_dry_run_tells_the_size_of_the_kept_file(strata, disk: Path, tmp_path: Path) -> None:
    data, stack = disk / "strata.dat", tmp_path / "stack.toml"
    words = ("--size", "24m", "--keep", "--runtime", "100ms", "--ramp-time", "0", "--progress", "none")
    made = strata("measure", f"file:{data}", *words)
    assert made.returncode == 0, made.stderr
    stack.write_text(f'[stack]\nname = "own"\n[[layer]]\nname = "file system"\nendpoint = "file:{data}"\n')
    done = strata("plan", stack, "--json")
    assert json.loads(done.stdout)["plan"]["file_size"] == 24 << 20, done.stderr
