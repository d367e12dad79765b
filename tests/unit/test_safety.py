"""What is not Strata's own is never opened for writing; who cannot tell refuses."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from strata.errors import RunFailed, SafetyRefusal
from strata.host import safety, testfile
from strata.host.mark import MARK_BYTES, header_bytes

MIB = 1 << 20


@pytest.fixture(autouse=True)
def _own_state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRATA_STATE_DIR", str(tmp_path_factory.mktemp("state")))


def refused(call: Callable[[], object], word: str) -> None:
    with pytest.raises(SafetyRefusal) as caught:
        call()
    assert word in caught.value.render()
    assert caught.value.exit_code == 5


def every_way(path: Path, word: str) -> None:
    """Whatever is asked of the path, it is refused."""
    refused(lambda: safety.check_new_file(path), word)
    refused(lambda: safety.check_own_file(path), word)
    refused(lambda: safety.open_own_file(path), word)
    refused(lambda: testfile.create(path, MIB), word)


def test_a_path_that_does_not_exist_is_free(tmp_path: Path) -> None:
    safety.check_new_file(tmp_path / "new.dat", MIB)
    assert list(tmp_path.iterdir()) == []


def test_our_own_file_is_ours(tmp_path: Path) -> None:
    path = tmp_path / "own.dat"
    mark = testfile.create(path, MIB)
    safety.check_new_file(path, MIB)
    fd = safety.open_own_file(path)
    assert os.pread(fd, MARK_BYTES, 0) == header_bytes(mark)
    os.close(fd)


@pytest.mark.parametrize("content", [b"", b"a thesis", b"STRATA\x00\x01", bytes(8192)])
def test_an_existing_file_without_the_mark(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "thesis.txt"
    path.write_bytes(content)
    every_way(path, "mark")
    assert path.read_bytes() == content


@pytest.mark.parametrize("at", [0, 8, 60, 510, 1080, 4095])
def test_one_changed_bit_of_the_header_ends_our_ownership(tmp_path: Path, at: int) -> None:
    path = tmp_path / "own.dat"
    testfile.create(path, MIB)
    with path.open("r+b") as f:
        f.seek(at)
        byte = f.read(1)[0]
        f.seek(at)
        f.write(bytes([byte ^ 1]))
    refused(lambda: safety.check_own_file(path), "mark")


def test_a_file_that_grew_or_shrank(tmp_path: Path) -> None:
    path = tmp_path / "own.dat"
    testfile.create(path, MIB)
    with path.open("ab") as f:
        f.write(b"appended by somebody")
    refused(lambda: safety.check_own_file(path), "it was changed")


def test_a_file_system_behind_an_intact_mark(tmp_path: Path) -> None:
    """btrfs and MD leave the first 4 KiB alone: the mark survives them, our ownership must not."""
    path = tmp_path / "own.dat"
    testfile.create(path, MIB)
    with path.open("r+b") as f:
        f.seek(0x10040)
        f.write(b"_BHRfS_M")
    refused(lambda: safety.check_own_file(path), "btrfs")


def test_a_symlink_to_a_foreign_and_to_an_own_file(tmp_path: Path) -> None:
    foreign, own = tmp_path / "foreign", tmp_path / "own.dat"
    foreign.write_bytes(b"a thesis")
    testfile.create(own, MIB)
    before = own.read_bytes()
    for target in (foreign, own, tmp_path / "missing"):
        link = tmp_path / f"to-{target.name}"
        link.symlink_to(target)
        every_way(link, "symbolic link")
    assert foreign.read_bytes() == b"a thesis"
    assert own.read_bytes() == before
    assert not (tmp_path / "missing").exists()


def test_a_hard_link_to_a_foreign_and_to_an_own_file(tmp_path: Path) -> None:
    foreign, own = tmp_path / "foreign", tmp_path / "own.dat"
    foreign.write_bytes(b"a thesis")
    mark = testfile.create(own, MIB)
    for target in (foreign, own):
        link = tmp_path / f"as-{target.name}"
        link.hardlink_to(target)
        every_way(link, "hard links")
    refused(lambda: testfile.remove(own, mark), "hard links")
    assert foreign.read_bytes() == b"a thesis"
    assert own.exists()


def test_directory_fifo_socket_and_character_device(tmp_path: Path) -> None:
    (tmp_path / "directory").mkdir()
    every_way(tmp_path / "directory", "a directory")
    os.mkfifo(tmp_path / "fifo")
    every_way(tmp_path / "fifo", "a fifo")
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(str(tmp_path / "socket"))
        every_way(tmp_path / "socket", "a socket")
    # Its owner and root may write to it; who may not is told that first.
    with pytest.raises((SafetyRefusal, RunFailed), match=r"a character device|no permission to write"):
        safety.check_own_file("/dev/null")


def test_a_read_only_file_even_with_our_mark(tmp_path: Path) -> None:
    path = tmp_path / "own.dat"
    testfile.create(path, MIB)
    before = path.read_bytes()
    path.chmod(0o400)
    refused(lambda: safety.open_own_file(path), "denied" if os.geteuid() else "read-only")
    assert path.read_bytes() == before


def test_a_file_of_another_user_even_with_our_mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "own.dat"
    testfile.create(path, MIB)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    refused(lambda: safety.check_own_file(path), "belongs to user")


def test_all_reasons_are_given_at_once(tmp_path: Path) -> None:
    path = tmp_path / "foreign"
    path.write_bytes(b"x")
    (tmp_path / "second").hardlink_to(path)
    path.chmod(0o400)
    with pytest.raises(SafetyRefusal) as caught:
        safety.check_own_file(path)
    # An ordinary user may not even open it for writing; asked for reading, all three reasons are seen.
    assert len(caught.value.problems) == 3


def test_a_path_that_vanishes_is_a_failed_run(tmp_path: Path) -> None:
    path = tmp_path / "own.dat"
    mark = testfile.create(path, MIB)
    path.unlink()
    with pytest.raises(RunFailed, match="does not exist") as caught:
        safety.open_own_file(path)
    assert caught.value.exit_code == 1
    testfile.remove(path, mark)


def test_a_file_removed_between_open_and_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "own.dat"
    testfile.create(path, MIB)
    reopen = safety._reopen

    def vanish(p: Path, handle: int, flags: int) -> int:
        fd = reopen(p, handle, flags)
        path.unlink()
        return fd

    monkeypatch.setattr(safety, "_reopen", vanish)
    with pytest.raises(RunFailed, match="removed in the meantime"):
        safety.open_own_file(path)


def test_a_file_swapped_between_look_and_open_is_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The descriptor that is returned is the one that was checked, whatever the name means by then."""
    path, foreign = tmp_path / "own.dat", tmp_path / "foreign"
    mark = testfile.create(path, MIB)
    foreign.write_bytes(b"a thesis")
    check = safety._check_kind

    def swap(p: Path, found: os.stat_result) -> None:
        check(p, found)
        path.rename(tmp_path / "aside.dat")
        path.symlink_to(foreign)

    monkeypatch.setattr(safety, "_check_kind", swap)
    fd = safety.open_own_file(path)
    assert os.pread(fd, MARK_BYTES, 0) == header_bytes(mark)
    os.close(fd)


@pytest.mark.parametrize("parent", ["missing", "file", "link"])
def test_a_parent_that_is_no_directory(tmp_path: Path, parent: str) -> None:
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    with pytest.raises(RunFailed) as caught:
        safety.check_new_file(tmp_path / parent / "strata.dat", MIB)
    assert caught.value.exit_code == 1
    if parent == "link":
        assert str(tmp_path / "real" / "strata.dat") in caught.value.hint


def test_not_enough_space_says_the_numbers(tmp_path: Path) -> None:
    with pytest.raises(RunFailed, match=r"1024 TiB needed, .* free"):
        safety.check_new_file(tmp_path / "strata.dat", 1 << 50)


def test_a_path_without_a_name(tmp_path: Path) -> None:
    with pytest.raises(RunFailed, match="not a file name"):
        safety.check_new_file("/", MIB)
    with pytest.raises(ValueError, match="never made"):
        safety.open_own_file(tmp_path / "x", os.O_RDWR | os.O_TRUNC)
