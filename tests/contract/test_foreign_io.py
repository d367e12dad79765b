"""Somebody else's I/O on a device of the stack: seen before anything is measured, and beside every measurement."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from loops import MIB, image, loop, need_root

from strata.app.noise import foreign_io, with_foreign_io
from strata.discover.chain import devices_of
from strata.model.counters import blockdev
from strata.model.endpoint import Endpoint
from strata.model.series import Series, SeriesKind

# Long enough for many of the kernel's ticks, by which it counts how long a device is busy.
READS = 8000
READER = f"""
import mmap, os, sys
fd = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)
buffer = mmap.mmap(-1, 8192)
os.write(1, b"r")
os.read(0, 1)
for number in range({READS}):
    os.preadv(fd, [buffer], number * 8192 % (1 << 20))
os.write(1, b"d")
os.read(0, 1)
"""


@pytest.mark.root
def test_a_neighbour_on_a_loop_device_shows_there_and_not_on_the_one_beside_it(tmp_path: Path) -> None:
    need_root()
    with loop(image(tmp_path / "a", 4 * MIB)) as busy, loop(image(tmp_path / "b", 4 * MIB)) as quiet:
        words = [sys.executable, "-c", READER, busy]
        names = [os.path.basename(d) for d in (busy, quiet)]  # noqa: PTH119 - a device's name
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as neighbour:
            stdin, stdout = neighbour.stdin, neighbour.stdout
            assert stdin is not None and stdout is not None

            def reads() -> float:
                begun = time.monotonic()
                stdin.write(b"g")
                assert stdout.read(1) == b"d"
                return time.monotonic() - begun

            try:
                assert stdout.read(1) == b"r"
                begun = time.monotonic()
                inner, found = with_foreign_io(names, reads)
                outer = time.monotonic() - begun
            finally:
                neighbour.kill()
        by = {f.device: f for f in found}
        # A second's part of all that it read and of nothing else, however fast it was.
        assert READS / outer * 0.999 <= by[names[0]].reads <= READS / inner * 1.001
        assert by[names[0]].read_bytes == pytest.approx(by[names[0]].reads * 8192)
        assert by[names[0]].busy is not None and 0 < by[names[0]].busy <= 1
        assert (by[names[1]].reads, by[names[1]].writes) == (0, 0)
        # The file under the loop device has a device too, or none (tmpfs): it comes after it.
        under = devices_of(Endpoint.parse(f"block:{busy}"))
        assert under.carriers == (names[0],) and under.devices[0] == names[0]


def test_what_was_not_read_at_both_ends_says_nothing() -> None:
    once = Series(
        metric="blockdev_reads",
        unit="requests",
        kind=SeriesKind.COUNTER,
        labels={"device": "sda"},
        t_ns=(1,),
        values=(4.0,),
    )
    assert foreign_io(["sda"], [once]) == ()


def test_a_short_look_counts_a_tick_more_than_fits_into_it() -> None:
    def grew(name: str, by: float) -> Series:
        kind, labels = SeriesKind.COUNTER, {"device": "sda"}
        return Series(metric=name, unit="s", kind=kind, labels=labels, t_ns=(0, 10_000_000), values=(0.0, by))

    names = (blockdev.READS, blockdev.WRITES, blockdev.READ_BYTES, blockdev.WRITE_BYTES)
    (found,) = foreign_io(["sda"], [*(grew(c.name, 0.0) for c in names), grew(blockdev.IO_SECONDS.name, 0.012)])
    assert found.busy == 1


def test_with_no_device_there_is_nothing_to_see() -> None:
    assert with_foreign_io([], lambda: 7) == (7, ())
