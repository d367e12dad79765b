"""Somebody else's I/O on a device of the stack: seen before anything is measured, and beside every measurement."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from loops import MIB, image, loop, need_root

from strata.app.foreign_io import foreign_io, with_foreign_io
from strata.discover.chain import devices_of
from strata.model.endpoint import Endpoint
from strata.model.series import Series, SeriesKind

READER = """
import mmap, os, sys
fd = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)
buffer = mmap.mmap(-1, 8192)
os.write(1, b"r")
while True:
    for at in range(0, 1 << 20, 8192):
        os.preadv(fd, [buffer], at)
"""


@pytest.mark.root
def test_a_neighbour_on_a_loop_device_shows_there_and_not_on_the_one_beside_it(tmp_path: Path) -> None:
    need_root()
    with loop(image(tmp_path / "a", 4 * MIB)) as busy, loop(image(tmp_path / "b", 4 * MIB)) as quiet:
        words = [sys.executable, "-c", READER, busy]
        with subprocess.Popen(words, stdout=subprocess.PIPE) as neighbour:
            try:
                assert neighbour.stdout is not None and neighbour.stdout.read(1) == b"r"
                names = [os.path.basename(d) for d in (busy, quiet)]  # noqa: PTH119 - a device's name
                made, found = with_foreign_io(names, lambda: time.sleep(0.2) or "made")
            finally:
                neighbour.kill()
        assert made == "made"
        by = {f.device: f for f in found}
        assert by[names[0]].reads > 100
        assert by[names[0]].read_bytes == pytest.approx(by[names[0]].reads * 8192, rel=0.05)
        assert by[names[0]].busy is not None and by[names[0]].busy > 0.05
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
    assert with_foreign_io([], lambda: 7) == (7, ())
