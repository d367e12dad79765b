"""Test files: made whole or not at all, and removed only while they are ours."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strata.errors import RunFailed, SafetyRefusal
from strata.host import registry, testfile
from strata.host.mark import MARK, MARK_BYTES, Mark, header_bytes, parse_header, read_mark

MIB = 1 << 20


@pytest.fixture(autouse=True)
def state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path_factory.mktemp("state")
    monkeypatch.setenv("STRATA_STATE_DIR", str(path))
    return path


def abandoned_file(path: Path, *, then: str = "") -> Mark:
    """Made by a process that ended without removing it."""
    code = f"from strata.host import testfile; testfile.create({str(path)!r}, {MIB}); {then}"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
    mark = read_mark(path)
    assert mark is not None
    return mark


@given(st.integers(MARK_BYTES, 1 << 60), st.integers(0, 1 << 62))
def test_a_mark_reads_back(size: int, created: int) -> None:
    mark = Mark("0b0e7a1c-1111-2222-3333-444455556666", created, size)
    header = header_bytes(mark)
    assert len(header) == MARK_BYTES
    assert parse_header(header) == mark


@given(st.binary(max_size=MARK_BYTES))
def test_other_bytes_are_no_mark(data: bytes) -> None:
    assert parse_header(data) is None
    assert parse_header((MARK + data).ljust(MARK_BYTES, b"\0")) is None


def test_a_new_file_has_size_blocks_mark_and_is_private(tmp_path: Path) -> None:
    path = tmp_path / "new.dat"
    mark = testfile.create(path, MIB)
    found = path.stat()
    assert (found.st_size, found.st_mode & 0o777, mark.size) == (MIB, 0o600, MIB)
    assert found.st_blocks * 512 >= MIB
    assert read_mark(path) == mark
    assert [e.uuid for e in registry.entries()] == [mark.uuid]


def test_remove_and_remove_again(tmp_path: Path) -> None:
    path = tmp_path / "new.dat"
    mark = testfile.create(path, MIB)
    testfile.remove(path, mark)
    assert not path.exists()
    assert registry.entries() == ()
    testfile.remove(path, mark)


def test_remove_leaves_what_is_not_this_very_file(tmp_path: Path) -> None:
    path = tmp_path / "new.dat"
    mark = testfile.create(path, MIB)
    path.unlink()
    testfile.create(path, MIB)
    with pytest.raises(SafetyRefusal, match="carries the mark"):
        testfile.remove(path, mark)
    path.unlink()
    path.write_bytes(b"a thesis")
    with pytest.raises(SafetyRefusal):
        testfile.remove(path, mark)
    assert path.read_bytes() == b"a thesis"


def test_create_never_replaces(tmp_path: Path) -> None:
    path = tmp_path / "own.dat"
    first = testfile.create(path, MIB)
    with pytest.raises(SafetyRefusal, match="a file of this name exists"):
        testfile.create(path, MIB)
    assert read_mark(path) == first


def test_create_too_small_or_unwritable_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RunFailed, match="less than its mark"):
        testfile.create(tmp_path / "x", 100)
    monkeypatch.setenv("STRATA_STATE_DIR", "/proc/nowhere")
    with pytest.raises(RunFailed):
        testfile.create(tmp_path / "x", MIB)
    assert list(tmp_path.iterdir()) == []


def test_clean_removes_the_files_of_dead_processes_only(tmp_path: Path) -> None:
    dead, alive = tmp_path / "dead.dat", tmp_path / "alive.dat"
    abandoned_file(dead, then="import os, signal; os.kill(os.getpid(), 0)")
    testfile.create(alive, MIB)
    assert testfile.clean() == (dead,)
    assert not dead.exists()
    assert alive.exists()
    assert testfile.clean() == ()
    assert [e.path for e in registry.entries()] == [str(alive)]


def test_clean_after_kill_9(tmp_path: Path) -> None:
    path = tmp_path / "killed.dat"
    code = f"import os; from strata.host import testfile;testfile.create({str(path)!r}, {MIB}); os.kill(os.getpid(), 9)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == -9
    assert testfile.clean() == (path,)


def test_clean_leaves_a_foreign_file_at_a_registered_path(tmp_path: Path) -> None:
    path = tmp_path / "dead.dat"
    abandoned_file(path)
    path.unlink()
    path.write_bytes(b"a thesis")
    assert testfile.clean() == ()
    assert path.read_bytes() == b"a thesis"
    assert registry.entries() == ()


def test_clean_leaves_a_copy_with_the_same_mark_at_another_inode(tmp_path: Path) -> None:
    path = tmp_path / "dead.dat"
    abandoned_file(path)
    copy = path.read_bytes()
    path.rename(tmp_path / "moved.dat")
    path.write_bytes(copy)
    assert testfile.clean() == ()
    assert path.read_bytes() == copy
    assert (tmp_path / "moved.dat").exists()


def test_clean_leaves_the_same_inode_with_other_content(tmp_path: Path) -> None:
    path = tmp_path / "dead.dat"
    abandoned_file(path)
    path.write_bytes(b"a thesis")
    assert testfile.clean() == ()
    assert path.read_bytes() == b"a thesis"


def test_clean_leaves_a_later_file_of_ours_that_got_the_same_inode(tmp_path: Path) -> None:
    path = tmp_path / "dead.dat"
    abandoned_file(path)
    later = Mark.new(MIB)
    with path.open("r+b") as f:
        f.write(header_bytes(later))
    assert testfile.clean() == ()
    assert read_mark(path) == later


def test_a_kept_file_stays(tmp_path: Path) -> None:
    path = tmp_path / "kept.dat"
    abandoned_file(path)
    with testfile.own(path) as held:
        held.keep()
    assert testfile.clean() == ()
    assert path.exists()


def test_a_torn_line_of_the_list_harms_no_other(tmp_path: Path, state: Path) -> None:
    (state / "files.jsonl").write_text('{"path": "/half')
    path = tmp_path / "dead.dat"
    abandoned_file(path)
    assert testfile.clean() == (path,)


def test_the_list_holds_one_json_line_each(tmp_path: Path, state: Path) -> None:
    for name in "ab":
        testfile.create(tmp_path / name, MIB)
    rows = [json.loads(line) for line in (state / "files.jsonl").read_text().splitlines()]
    assert [(r["path"], r["inode"]) for r in rows] == [(str(tmp_path / n), (tmp_path / n).stat().st_ino) for n in "ab"]


def test_a_kept_file_is_told_from_one_that_was_left_behind(tmp_path: Path) -> None:
    path = tmp_path / "t.dat"
    testfile.create(path, 1 << 20)
    assert not testfile.was_kept(path)
    with testfile.own(path) as held:
        held.keep()
    assert testfile.was_kept(path)
    assert not testfile.was_kept(tmp_path / "absent")


def test_clean_leaves_a_file_that_a_living_process_went_on_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.dat"
    mark = testfile.create(path, 1 << 20)
    entry = registry.entries()[0]
    registry.forget(mark.uuid)
    registry.add(dataclasses.replace(entry, process="a process that is gone"))
    with testfile.own(path) as held:
        assert testfile.clean() == ()
        assert path.exists()
        held.remove()
