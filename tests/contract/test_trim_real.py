"""`rw=trim` on real file systems and a device: what is freed, what is left alone, and what each of them answers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from commands import measured, strata, working_disk
from loops import MIB, image, loop, mounted, need, need_root, run

from strata.host import testfile
from strata_lab.disks import past_the_dead

TRIM = ("--rw", "randtrim", "--bs", "64k", "--randommap", "--runtime", "200ms")
SIZE = 8 * MIB


def freed(path: Path) -> int:
    """Bytes of the file that no block holds."""
    found = path.stat()
    return found.st_size - min(found.st_size, found.st_blocks * 512)


def unlike_zero(path: Path) -> bool:
    """Whether every page behind the mark's first MiB holds data."""
    data = path.read_bytes()[MIB:]
    return all(any(data[at : at + 4096]) for at in range(0, len(data), 4096))


@pytest.mark.parametrize("depth", [1, 8])
def test_a_new_file_is_trimmed_and_removed(depth: int) -> None:
    with working_disk() as disk:
        document = measured(f"file:{disk}/x.dat", *TRIM, "--iodepth", depth, "--size", "16m")
        assert not (disk / "x.dat").exists()
    result = document["result"]
    assert result["write"]["ops"] > 0 and result["read"]["ops"] == 0 and not result["errored"]
    assert result["write"]["bytes"] == result["write"]["ops"] * 65536


def test_a_kept_file_has_data_again_and_still_is_the_users() -> None:
    with working_disk() as disk:
        path = disk / "x.dat"
        measured(f"file:{path}", *TRIM, "--size", "16m", "--keep")
        assert testfile.was_kept(path) and freed(path) == 0 and unlike_zero(path)
        measured(f"file:{path}", *TRIM)
        assert testfile.was_kept(path) and freed(path) == 0 and unlike_zero(path)
        done = measured(f"file:{path}", "--rw", "randread", "--runtime", "50ms")
        assert done["result"]["read"]["ops"] > 0


def test_a_file_of_others_is_refused_and_whole() -> None:
    with working_disk() as disk:
        theirs = disk / "theirs"
        theirs.write_bytes(b"x" * SIZE)
        assert strata("measure", f"file:{theirs}", *TRIM).returncode == 5
        assert theirs.read_bytes() == b"x" * SIZE


@contextmanager
def volume(at: Path, kind: str, size: int) -> Iterator[Path]:
    """A file system of this kind."""
    need_root()
    with ExitStack() as made:
        if kind in ("tmpfs", "ramfs"):
            yield made.enter_context(mounted("none", at / "volume", "-o", f"size={size}", kind=kind))
            return
        disk = image(at / "disk.img", size)
        run(*past_the_dead([need(f"mkfs.{kind}"), "-q", str(disk)]))
        device = made.enter_context(loop(disk))
        yield made.enter_context(mounted(device, at / "volume", kind=kind))


@pytest.mark.parametrize(("kind", "size"), [("ext4", 64), ("xfs", 320), ("btrfs", 256), ("tmpfs", 64)])
def test_file_systems_with_holes_trim(kind: str, size: int, tmp_path: Path) -> None:
    with volume(tmp_path, kind, size * MIB) as there:
        document = measured(f"file:{there}/x.dat", *TRIM, "--iodepth", 4, "--size", "16m", "--buffered")
    assert document["result"]["write"]["ops"] > 0 and not document["result"]["errored"]


def test_a_file_system_without_holes_says_so_before_anything_is_measured(tmp_path: Path) -> None:
    with volume(tmp_path, "ramfs", 64 * MIB) as there:
        done = strata("measure", f"file:{there}/x.dat", *TRIM, "--size", "16m", "--buffered")
        left = list(there.iterdir())
    assert done.returncode != 0
    assert "does not make holes" in done.stderr and str(tmp_path) in done.stderr and left == []


def test_a_device_is_discarded_with_the_word_for_writing_alone(tmp_path: Path) -> None:
    need_root()
    backing = tmp_path / "disk.img"
    backing.write_bytes(b"\0" * MIB + os.urandom(15 * MIB))
    with loop(backing) as device:
        done = strata("measure", f"block:{device}", *TRIM)
        assert done.returncode == 5 and freed(backing) == 0
        ios = 0
        for depth in (1, 4):
            document = measured(f"block:{device}", *TRIM, "--iodepth", depth, "--destructive", device)
            assert document["result"]["write"]["ops"] > 0 and not document["result"]["errored"]
            ios = max(ios, document["result"]["write"]["ops"])
        # A random map comes to every block once in a pass. A file system holds a little more than the data.
        assert freed(backing) > 0.9 * min(ios * 65536, SIZE * 2)


@pytest.mark.parametrize("uri", ["nbd://127.0.0.1:1/x", "nfs://127.0.0.1/x/y", "null:"])
def test_elsewhere_it_is_refused_with_the_next_step(uri: str) -> None:
    done = strata("measure", uri, *TRIM)
    assert done.returncode == 2
    assert "rw=randtrim" in done.stderr and "mounted or attached" in done.stderr


def test_a_stack_and_a_matrix_do_not_trim() -> None:
    with working_disk() as disk:
        for words in ((disk, *TRIM), (f"file:{disk}/x.dat", "--matrix", "rw=trim;bs=4k;iodepth=1")):
            done = strata("measure", *words, "--progress", "none")
            assert done.returncode == 2, done.stderr
            assert "leaves no data for other cells" in done.stderr
        assert not list(disk.iterdir())
