"""The lab disk under a real loop device: its model is what a client measures, and it leaves nothing behind."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from absent import absent
from loops import MIB, image, loop, mounted, run

from strata.engine import Request, Timing, engine_of
from strata.errors import RunFailed, UsageError
from strata.host.mounts import mounts as host_mounts
from strata.host.process import Child
from strata.model import histogram
from strata.model.endpoint import Endpoint
from strata.model.plan import Segment
from strata.model.result import EngineResult
from strata.plan.words import workload_from_words
from strata_lab import disks
from strata_lab.parts.disk import DiskControl, main

pytestmark = pytest.mark.root
SIZE = 64 * MIB
MS = 1_000_000


def started(directory: Path, model: str = "", *words: str) -> Child:
    if not Path("/dev/fuse").exists():
        absent("this kernel has no /dev/fuse")
    directory.mkdir(exist_ok=True)
    argv = [sys.executable, "-m", "strata_lab.parts.disk", str(directory), "--size", str(SIZE), "--model", model]
    child = Child([*argv, *words]).start()
    try:
        DiskControl(directory).wait(30, alive=lambda: child.returncode is None)
    except BaseException:
        child.stop()
        print(child.last_words(), file=sys.stderr)
        raise
    return child


@contextmanager
def disk(directory: Path, model: str = "", *words: str) -> Iterator[DiskControl]:
    child = started(directory, model, *words)
    try:
        yield DiskControl(directory)
    finally:
        assert child.stop() == 0, child.last_words()
        assert not mounts(directory)


def mounts(directory: Path) -> list[str]:
    lines = Path("/proc/self/mounts").read_text().splitlines()
    return [line for line in lines if line.split()[1] == str(directory)]


@pytest.fixture
def device(tmp_path: Path) -> Iterator[tuple[DiskControl, str]]:
    with disk(tmp_path / "disk") as control, loop(control.disk, "--direct-io=on") as made:
        yield control, made


def measured(device: str, rw: str, iodepth: int = 8) -> EngineResult:
    """With every I/O counted, none left out as a ramp."""
    request = Request(
        endpoint=Endpoint.parse(f"block:{device}"),
        workload=workload_from_words(rw, "8k", iodepth=iodepth),
        segments=(Segment(start=0, length=SIZE, target=0),),
        timing=Timing(ramp_s=0, runtime_s=0.5),
        allow_write=True,
    )
    return engine_of("native").run(request)


def test_one_server_is_a_queue(device: tuple[DiskControl, str]) -> None:
    control, where = device
    control.set(c=1, svc=500, reset=1)
    seen = measured(where, "randread")
    truth = control.truth()
    # 500 µs apart, one after another: no client can see more.
    assert seen.ops <= seen.seconds * 2000 + 8
    assert truth.read.wait_ns > 0
    assert truth.depth_max == 8
    # Neighbours that come together are merged by the kernel; no byte is.
    assert truth.read.n <= seen.issued
    assert truth.read.bytes == 8192 * seen.issued
    assert truth.read.svc_ns == truth.read.n * MS // 2
    # What the client saw is what the model made, plus what it did not make.
    assert seen.read.service_sum_ns >= 0.9 * (truth.read.svc_ns + truth.read.wait_ns) * seen.ops / seen.issued


def test_more_servers_work_side_by_side(device: tuple[DiskControl, str]) -> None:
    control, where = device
    control.set("c=8 svc=5000", reset=1)
    seen = measured(where, "randwrite")
    truth = control.truth()
    values, _ = histogram.decode(seen.write.service_time)
    assert min(values) >= 4.9 * MS
    # Eight at once, and none of them waited for another.
    assert truth.depth_max == 8
    assert truth.write.wait_ns == 0
    assert truth.write.bytes == 8192 * seen.issued
    assert truth.late.n == truth.write.n


def test_the_kernel_counts_what_the_model_counts(device: tuple[DiskControl, str]) -> None:
    control, where = device
    counters = Path(f"/sys/block/{Path(where).name}/stat")
    before, _ = [int(n) for n in counters.read_text().split()], control.reset()
    with Path(where).open("rb", buffering=0) as f:
        for _ in range(4):
            os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            f.seek(0)
            f.read(MIB)
    after, truth = [int(n) for n in counters.read_text().split()], control.truth()
    assert truth.read.bytes >= MIB
    assert (after[2] - before[2]) * 512 == truth.read.bytes


def test_holes_read_as_zeros_and_discards_make_them(device: tuple[DiskControl, str]) -> None:
    control, where = device
    data = os.urandom(MIB)
    fd = os.open(where, os.O_RDWR | os.O_SYNC)
    try:
        os.pwrite(fd, data, 8 * MIB)
    finally:
        os.close(fd)
    held = control.truth().held_bytes
    assert MIB <= held < 2 * MIB
    drop_cache(where)
    content = Path(where).read_bytes()
    assert content[8 * MIB : 9 * MIB] == data
    assert content.count(0) >= SIZE - MIB
    run("blkdiscard", "--offset", str(8 * MIB), "--length", str(MIB // 2), where)
    drop_cache(where)
    content = Path(where).read_bytes()
    assert content[8 * MIB : 9 * MIB] == bytes(MIB // 2) + data[MIB // 2 :]
    truth = control.truth()
    assert truth.discard.bytes == MIB // 2
    assert truth.held_bytes == held - MIB // 2


def drop_cache(device: str) -> None:
    run("blockdev", "--flushbufs", device)


def test_errors_reach_the_client(device: tuple[DiskControl, str]) -> None:
    control, where = device
    control.set(eio_w=1, reset=1)
    fd = os.open(where, os.O_RDWR | os.O_SYNC)
    try:
        with pytest.raises(OSError, match="error") as refused:
            os.pwrite(fd, bytes(4096), 0)
    finally:
        os.close(fd)
    assert refused.value.errno == errno.EIO
    assert control.truth().write.errors >= 1
    control.set(eio=0)
    assert len(Path(where).read_bytes()) == SIZE


def test_a_flush_waits_for_the_write_cache(device: tuple[DiskControl, str]) -> None:
    control, where = device
    control.set(wcache="16MiB", wcache_svc=0, drain=10, reset=1)
    fd = os.open(where, os.O_RDWR)
    try:
        os.pwrite(fd, os.urandom(8 * MIB), 0)
        os.fsync(fd)
    finally:
        os.close(fd)
    truth = control.truth()
    assert truth.write.bytes == 8 * MIB
    assert truth.write_cache.absorbed == truth.write.n
    assert truth.write_cache.dirty_bytes == 0
    assert truth.flush.n >= 1
    # 8 MiB at 10 MB/s are 839 ms; what drained before the flush came is not waited for.
    assert 0 < truth.flush.ns <= 839 * MS


def test_parameters_are_set_all_or_none(device: tuple[DiskControl, str]) -> None:
    control, _ = device
    control.set("c=4 svc=100 jitter=exponential")
    for wrong in ("svc=200 speed=1", "seek=5", "lame=1"):
        with pytest.raises(UsageError):
            control.set(wrong)
    assert control.truth().model == "c=4 svc_r=100 svc_w=100 jitter=exponential"
    assert os.access(control.ctl, os.R_OK)
    subprocess.run(["sh", "-c", 'echo "c=2 svc=0 jitter=none" > "$1"', "sh", control.ctl], check=True)
    assert control.truth().model == "c=2"


def test_a_backing_file_keeps_the_content(tmp_path: Path) -> None:
    backing = tmp_path / "backing"
    with disk(tmp_path / "disk", "", "--backing", str(backing)) as control, control.disk.open("r+b") as f:
        f.write(b"kept")
    assert backing.read_bytes()[:8] == b"kept" + bytes(4)
    with disk(tmp_path / "disk", "", "--backing", str(backing)) as control, control.disk.open("rb") as f:
        assert f.read(4) == b"kept"


def test_a_signal_takes_the_mount_away_also_under_a_loop_device(tmp_path: Path) -> None:
    child = started(tmp_path / "disk", "svc=600000000")
    with ExitStack() as made:
        device = made.enter_context(loop(tmp_path / "disk" / "disk", "--direct-io=on"))
        # Under way for ten minutes, if nobody came in between.
        words = ["dd", f"if={device}", "of=/dev/null", "bs=4k", "count=1", "iflag=direct"]
        reader = made.enter_context(Child(words))
        while DiskControl(tmp_path / "disk").truth().read.n == 0:
            assert reader.returncode is None
        assert child.stop() == 0
        assert reader.wait(30)
        assert reader.returncode == 1
    assert not mounts(tmp_path / "disk")
    (tmp_path / "disk").rmdir()


def test_a_crash_leaves_a_mount_that_can_be_removed(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    directory = tmp_path / "disk"
    child = started(directory)
    os.kill(child.pid, signal.SIGKILL)
    assert child.wait(30)
    child.stop()
    assert mounts(directory)
    with pytest.raises(RunFailed):
        DiskControl(directory).truth()
    assert main([str(directory)]) == 1
    assert "umount -l" in capfd.readouterr().err
    run("umount", "-l", str(directory))
    with disk(directory) as control:
        assert control.truth().size_bytes == SIZE


def test_an_unmount_by_hand_ends_it(tmp_path: Path) -> None:
    child = started(tmp_path / "disk")
    run("umount", str(tmp_path / "disk"))
    assert child.wait(30)
    assert child.returncode == 0
    child.stop()


@pytest.mark.parametrize("words", [["--size", "5"], ["--model", "c=0"], ["--model", "speed=1"], ["--size", "1GB"]])
def test_what_is_no_disk_is_refused(words: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path), *words]) == 2
    said = capfd.readouterr().err
    assert said.startswith("error:")
    assert words[1].split("=")[0] in said


# While it lasts, whoever else makes a btrfs is refused.
@pytest.mark.alone
def test_btrfs_is_made_although_the_disk_under_another_mount_has_just_died(tmp_path: Path) -> None:
    words = ["mkfs.btrfs", "-q", "-f"]
    child = started(tmp_path / "disk")
    with ExitStack() as ends, loop(image(tmp_path / "ours", 256 * MIB)) as ours:
        theirs = ends.enter_context(loop(tmp_path / "disk" / "disk"))
        run("mkfs.ext4", "-q", theirs)
        at = ends.enter_context(mounted(theirs, tmp_path / "with a blank"))
        # Killed, it leaves its mount behind, and every question about its file is refused.
        os.kill(child.pid, signal.SIGKILL)
        ends.callback(run, "umount", "-l", str(tmp_path / "disk"))
        assert child.wait(10)
        before = host_mounts()
        with pytest.raises(RunFailed, match="not connected"):
            disks.tool([*words, ours], "make btrfs on")
        disks.make_fs(ours, "btrfs")
        # Theirs is as it was: only mkfs.btrfs did not see it.
        assert host_mounts() == before and str(at) in [m.point for m in before]
    assert "btrfs" in run("blkid", "-p", str(tmp_path / "ours"))
