"""What a command line of `qemu-img bench` says that it keeps outstanding."""

from __future__ import annotations

import pytest

from strata.app.watch import _asked
from strata.formats.qemu_img import outstanding_of_bench_line


@pytest.mark.parametrize(
    ("line", "outstanding"),
    [
        ("bench -f raw -t none -o 1048576 -c 4000 -d 16 -s 8192 -S 1056768 /mnt/disk", 16),
        ("bench -f raw -d8 --flush-interval=1 -w /mnt/disk", 8),
        ("bench /mnt/disk", 64),
        # Its client of NBD has no more on its connection.
        ("bench -d 64 nbd://10.0.0.1:10809/disk", 16),
        ("bench -d many /mnt/disk", None),
        ("bench -d 4 one two", None),
        ("bench --strange /mnt/disk", None),
        ("convert a b", None),
        ("", None),
    ],
)
def test_how_many_are_outstanding(line: str, outstanding: int | None) -> None:
    assert outstanding_of_bench_line(line.split()) == outstanding


def test_a_command_is_understood_behind_whatever_begins_it() -> None:
    words = "/usr/bin/nsenter --net=/run/netns/n2 -- python again.py 13 out qemu-img bench -d 8 nbd://h/disk"
    told = _asked(words.split())
    assert told is not None and told.outstanding == 8
    assert _asked(["pgbench", "-c", "8"]) is None
