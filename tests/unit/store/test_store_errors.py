from __future__ import annotations

import random
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import store_samples as sample
from absent import absent
from loops import need_root
from tiers import rest_in_ci

from strata.errors import StoreError, UsageError
from strata.store import open_store


@pytest.fixture
def path(tmp_path):
    return tmp_path / "strata.db"


def filled(path, cells=20):
    with open_store(str(path)) as store:
        store.create_run(sample.run())
        for n in range(cells):
            store.save_cell(sample.run().id, sample.cell(n))
    return path.read_bytes()


def refused(path, before):
    with pytest.raises(StoreError) as caught:
        open_store(str(path))
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir() if not p.name.endswith(("-wal", "-shm"))] == [path.name]
    assert str(path) in caught.value.headline
    assert caught.value.hint
    assert caught.value.exit_code == 1
    return caught.value


@pytest.mark.parametrize(
    "content", [b"\n", b"hello", b"\0" * 8192, b"SQLite format 3\0", b"SQLite format 3\0" + b"\xff" * 9000]
)
def test_what_is_no_database_is_left_as_it_is(path, content):
    path.write_bytes(content)
    refused(path, content)
    assert "damaged" in refused(path, content).hint


def test_a_database_of_somebody_else_is_left_as_it_is(path):
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE accounts (id INTEGER)")
    db.close()
    assert "that are not Strata's" in refused(path, path.read_bytes()).why


def test_a_truncated_store_is_left_as_it_is(path):
    whole = filled(path)
    path.write_bytes(whole[: len(whole) // 2])
    assert "damaged" in refused(path, whole[: len(whole) // 2]).why


@pytest.mark.parametrize("seed", rest_in_ci(range(12), every_day=4))
def test_a_store_with_overwritten_pages_is_left_as_it_is_or_still_reads_right(path, seed):
    """SQLite has no checksums, so damage inside a value is found by the value's own check; none goes unnoticed."""
    whole = filled(path)
    rng = random.Random(seed)
    at = rng.randrange(1, len(whole) // 4096) * 4096
    broken = whole[:at] + rng.randbytes(4096) + whole[at + 4096 :]
    path.write_bytes(broken)
    wanted = [sample.cell(n) for n in range(20)]
    try:
        with open_store(str(path)) as store:
            kept = list(store.cells(sample.run().id))
    except StoreError as e:
        assert "damaged" in e.why
    else:
        assert kept == wanted
    assert path.read_bytes() == broken


def test_a_directory_in_its_place_is_refused(path):
    path.mkdir()
    with pytest.raises(UsageError, match="a directory"):
        open_store(str(path))


def holder(path, statement):
    """A second process that holds a lock on the store until it is told to end."""
    code = (
        "import sqlite3, sys\n"
        "db = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "for s in sys.argv[2].split(';'): db.execute(s).fetchall()\n"
        "print('held', flush=True); sys.stdin.readline()\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code, str(path), statement], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "held\n"
    return child


def test_a_store_that_another_process_holds_whole_is_refused(path):
    before = filled(path)
    child = holder(path, "PRAGMA locking_mode=EXCLUSIVE;BEGIN EXCLUSIVE;SELECT * FROM runs")
    try:
        assert "another process has locked it" in refused(path, before).why
    finally:
        child.communicate("\n", timeout=30)
    with open_store(str(path)) as store:
        assert len(store.cells(sample.run().id)) == 20


def test_a_commit_that_another_process_holds_up_is_an_error_and_works_afterwards(path):
    filled(path, 1)
    with open_store(str(path)) as store:
        child = holder(path, "BEGIN EXCLUSIVE")
        try:
            assert len(store.cells(sample.run().id)) == 1
            with pytest.raises(StoreError) as caught:
                store.save_cell(sample.run().id, sample.cell(1))
            assert "another process has locked it" in caught.value.why
            assert "fuser" in caught.value.hint
        finally:
            child.communicate("\n", timeout=30)
        store.save_cell(sample.run().id, sample.cell(1))
        assert len(store.cells(sample.run().id)) == 2


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 1 MiB."""
    need_root()
    where = tmp_path / "small"
    where.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(where)], capture_output=True, check=False
    )
    if made.returncode:
        absent(f"mounting is not permitted here: {made.stderr.decode()}")
    yield where
    subprocess.run(["umount", "-l", str(where)], check=True)


@pytest.mark.root
def test_a_full_disk_is_said_and_what_was_saved_is_intact(small_disk):
    path = small_disk / "strata.db"
    with open_store(str(path)) as store:
        store.create_run(sample.run())
        saved = 0
        with pytest.raises(StoreError) as caught:
            for saved in range(10_000):
                store.save_cell(sample.run().id, sample.cell(saved))
        assert "the disk is full" in caught.value.why
        assert "resumed" in caught.value.hint
        assert 0 < saved < 10_000
        assert [c.order for c in store.cells(sample.run().id)] == list(range(saved))
        subprocess.run(["mount", "-o", "remount,size=8m", str(small_disk)], check=True)
        store.save_cell(sample.run().id, sample.cell(saved))
    with open_store(str(path)) as store:
        assert store.cells(sample.run().id) == tuple(sample.cell(n) for n in range(saved + 1))


@pytest.mark.root
def test_a_disk_that_is_full_from_the_start_is_said(small_disk):
    (small_disk / "filler").write_bytes(bytes((1 << 20) - 4096))
    with pytest.raises(StoreError) as caught:
        open_store(str(small_disk / "strata.db"))
    assert "the disk is full" in caught.value.why


@pytest.mark.root
@pytest.mark.parametrize("there", [False, True])
def test_a_read_only_file_system_is_said(small_disk, there):
    path = small_disk / "strata.db"
    if there:
        open_store(str(path)).close()
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with pytest.raises(StoreError) as caught:
        open_store(str(path))
    assert "cannot be written to" in caught.value.why
    assert "STRATA_STORE" in caught.value.hint


def test_a_directory_without_write_permission_is_said(tmp_path):
    """Root is above permissions, so the store is opened by a child that gives up its rights."""
    code = (
        "import os, sys\n"
        "from strata.store import open_store\n"
        "from strata.errors import StoreError\n"
        "open_store(sys.argv[2]).close()  # so that all modules are loaded while they may be read\n"
        "os.geteuid() or os.setuid(65534)\n"
        "try: open_store(sys.argv[1])\n"
        "except StoreError as e: print(e.render())\n"
    )
    with tempfile.TemporaryDirectory() as where:  # not below tmp_path, which others may not enter
        Path(where).chmod(0o555)
        done = subprocess.run(
            [sys.executable, "-c", code, f"{where}/strata.db", str(tmp_path / "other.db")],
            env=sample.child_environment(), capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert list(Path(where).iterdir()) == []
    assert done.stdout.startswith(f"error: cannot open the store {where}/strata.db: it cannot be written to")
    assert f"write access to {where}" in done.stdout
