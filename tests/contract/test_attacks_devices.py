"""Devices that other processes have open: nothing is written to them, whatever name and whatever part they opened.

Every holder is a process of its own with nothing but the device open: the kernel alone refuses none of them.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from commands import strata
from loops import checksum, image, loop, need, need_root, run

from strata.errors import SafetyRefusal
from strata.host import rawcheck
from strata.host.openers import Openers, openers, place_of

pytestmark = pytest.mark.root

HOLDS = """
import mmap, os, sys, time
fd = os.open(sys.argv[1], int(sys.argv[2]))
{more}
print(flush=True)
time.sleep(60)
"""
MAPS = "m = mmap.mmap(fd, 4096); os.close(fd)"


@pytest.fixture(autouse=True)
def _root() -> None:
    need_root()


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as held:
        yield held


@contextmanager
def holder(path: Path | str, flags: int = os.O_RDWR, more: str = "pass") -> Iterator[int]:
    """A process that has it open; its number."""
    argv = [sys.executable, "-c", HOLDS.format(more=more), str(path), str(flags)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == b"\n"
            yield process.pid
        finally:
            process.kill()


def refused(device: str, pid: int, words: str = "") -> None:
    with pytest.raises(SafetyRefusal) as e:
        rawcheck.check_raw_write(device, device)
    assert any(f"process {pid} " in p and words in p for p in e.value.problems or (e.value.why,)), e.value.render()


def test_a_device_that_somebody_has_open_is_not_written_to(tmp_path: Path, stack: ExitStack) -> None:
    img = image(tmp_path / "d.img")
    device = stack.enter_context(loop(img))
    before = checksum(img)
    with holder(device) as pid:
        write = ("measure", f"block:{device}", "--rw", "randwrite", "--runtime", "100ms", "--destructive", device)
        done = strata(*write)
        assert done.returncode == 5 and f"held open for writing by process {pid}" in done.stderr, done.stderr
        assert checksum(img) == before
        read = strata("measure", f"block:{device}", "--rw", "randread", "--runtime", "100ms", "--ramp-time", "0ms")
        assert read.returncode == 0, read.stderr
    rawcheck.check_raw_write(device, device)


def test_every_way_to_have_it_open_is_seen(tmp_path: Path, stack: ExitStack) -> None:
    img = image(tmp_path / "d.img")
    device = stack.enter_context(loop(img))
    other = tmp_path / "another-name"
    os.mknod(other, 0o600 | 0o060000, os.stat(device).st_rdev)  # noqa: PTH116
    ways = [
        (device, os.O_RDONLY, "pass", "for reading"),
        (device, os.O_WRONLY, "pass", "for writing"),
        (other, os.O_RDWR, "pass", "it is held"),
        (device, os.O_RDWR, MAPS, "for writing"),
        (img, os.O_RDWR, "pass", f"{img}, which it is built on,"),
        (img, os.O_RDWR, MAPS, f"{img}, which it is built on,"),
    ]
    for path, flags, more, words in ways:
        with holder(path, flags, more) as pid:
            refused(device, pid, words)
    with holder(device, os.O_PATH):
        rawcheck.check_raw_write(device, device)


def test_parts_and_wholes_are_one_device(tmp_path: Path, stack: ExitStack) -> None:
    img = image(tmp_path / "d.img")
    disk = stack.enter_context(loop(img, "--partscan"))
    subprocess.run([need("sfdisk"), "-q", disk], input="1024,4096\n8192,4096\n", text=True, check=True)
    run(need("partx"), "-u", disk)
    first = f"{disk}p1"
    deadline = time.monotonic() + 30
    while not Path(first).exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    if not Path(first).exists():
        pytest.skip("no nodes are made for partitions here")
    with holder(disk) as pid:
        refused(first, pid, "its whole disk")
    with holder(first) as pid:
        refused(disk, pid, "its partition")


def test_a_device_on_another_one_is_refused_with_it(tmp_path: Path, stack: ExitStack) -> None:
    lower = stack.enter_context(loop(image(tmp_path / "d.img")))
    upper = stack.enter_context(loop(Path(lower)))
    with holder(lower) as pid:
        refused(upper, pid, f"{lower}, which it is built on,")


def test_who_may_not_look_at_others_is_told_so(tmp_path: Path, stack: ExitStack) -> None:
    device = stack.enter_context(loop(image(tmp_path / "d.img")))
    os.chmod(device, 0o666)  # noqa: PTH101
    ends = os.pipe()
    if os.fork() == 0:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
        try:
            rawcheck.check_raw_write(device, device)
        except SafetyRefusal as e:
            os.write(ends[1], e.render().encode())
        finally:
            os._exit(0)
    os.close(ends[1])
    with os.fdopen(ends[0]) as said:
        told = said.read()
    os.wait()
    assert "processes of other users cannot be examined; run as root" in told, told


def test_a_process_that_ends_meanwhile_and_our_own_are_passed_over(tmp_path: Path) -> None:
    file = image(tmp_path / "f")
    with file.open("r+b"):
        found = openers({place_of(file.stat()): "it"})
    assert found.reasons == () and not found.writing


def test_root_is_told_of_processes_that_it_may_not_look_at(
    tmp_path: Path, stack: ExitStack, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # Made up: root is kept from looking in containers alone.
    monkeypatch.setattr(rawcheck, "openers", lambda _: Openers((), False, 2))
    rawcheck._say_unseen.cache_clear()
    device = stack.enter_context(loop(image(tmp_path / "d.img")))
    os.close(rawcheck.open_raw_write(device, device))
    assert capsys.readouterr().err.count("2 processes cannot be examined") == 1
