"""What a waterfall asks of the kernel, and where a loop device's sectors lie."""

from __future__ import annotations

from pathlib import Path

import pytest

from strata.errors import RunFailed
from strata.host import fragments
from strata.host.proc import Sys
from strata.model.trace import TraceTarget
from strata.probes.trace import nesting
from strata.probes.trace.instance import ReadyInstance, with_path
from strata.units import MIB

SECTOR = 512


def ready(folder: Path, *events: str) -> ReadyInstance:
    """An instance of a kernel that has these events."""
    for name in events:
        (folder / "events" / name).mkdir(parents=True)
    return ReadyInstance(folder, folder, ("block_rq_issue",), ("block_rq_error",))


def test_events_are_enabled_with_their_filters_and_absent_ones_are_told(tmp_path: Path) -> None:
    found = with_path(ready(tmp_path, "syscalls/sys_enter_read", "tcp/tcp_probe"))
    assert set(found.marks) == {"syscalls/sys_enter_read", "tcp/tcp_probe"}
    assert (tmp_path / "events/tcp/tcp_probe/filter").read_text() == "data_len > 0"
    assert (tmp_path / "events/syscalls/sys_enter_read/enable").read_text() == "1"
    assert not (tmp_path / "events/syscalls/sys_enter_read/filter").exists()
    assert {"block_rq_error", "sys_exit_read", "sock_send_length"} <= set(found.absent)


def test_an_event_under_its_older_name_is_not_absent(tmp_path: Path) -> None:
    found = with_path(ready(tmp_path, "syscalls/sys_enter_read", "io_uring/io_uring_submit_sqe"))
    assert "io_uring/io_uring_submit_sqe" in found.marks
    assert "io_uring_submit_req" not in found.absent


def test_without_system_calls_there_is_no_waterfall(tmp_path: Path) -> None:
    with pytest.raises(RunFailed, match="no events of system calls"):
        with_path(ready(tmp_path, "tcp/tcp_probe"))


@pytest.fixture
def loop_(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sys:
    """loop3 over two pieces of a file, from its second 4 KiB on."""
    folder = tmp_path / "sys/class/block/loop3/loop"
    folder.mkdir(parents=True)
    (folder / "backing_file").write_text("/images/disk\n")
    (folder / "offset").write_text("4096\n")
    pieces = ((0, 8 * MIB, 65_536), (65_536, 2 * MIB, 65_536))
    monkeypatch.setattr(fragments, "places", lambda path, most: pieces if str(path) == "/images/disk" else None)
    return Sys(tmp_path)


def test_sectors_of_a_loop_device_are_found_on_the_partition_below(loop_: Sys) -> None:
    lower = TraceTarget(name="sda1", dev=8 << 20, entrance=8 << 20 | 1, sectors=(2048, 10**6), above="loop3")
    first, second = nesting.extents_of(lower, loop_)
    assert first == (0, 2048 + (8 * MIB + 4096) // SECTOR, (65_536 - 4096) // SECTOR)
    assert second == ((65_536 - 4096) // SECTOR, 2048 + 2 * MIB // SECTOR, 65_536 // SECTOR)


def test_what_lies_below_nothing_has_no_place_above(loop_: Sys) -> None:
    assert nesting.extents_of(TraceTarget(name="sda", dev=8 << 20), loop_) == ()
    assert nesting.extents_of(TraceTarget(name="sda", dev=8 << 20, above="sdb"), loop_) == ()
