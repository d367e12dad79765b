"""Names that a user chooses, in the kernel's own texts: white space in them ends no line and no field."""

from __future__ import annotations

import mmap
import subprocess
import sys
from pathlib import Path

import pytest

from strata.host.cgroups import groups
from strata.host.mounts import mounts
from strata.host.openers import openers, place_of
from tests.unit.kernel_tree import Tree

SPACES = ["\r", "\x0b", "\x0c", "\x1c", "\x85", "\xa0", "\u2028"]
"""Python ends a line or a word at each of them, and the kernel escapes none."""

MAPPER = """
import mmap, sys
files = [open(path, "r+b") for path in sys.argv[1:]]
held = [mmap.mmap(file.fileno(), 0) for file in files]
print(1, flush=True)
input()
"""


@pytest.mark.parametrize("space", SPACES)
def test_a_mount_point_with_white_space_is_one_mount_and_no_other(tmp_path: Path, space: str) -> None:
    tree = Tree(tmp_path)
    point = f"/mnt/a{space}36 35 8:16 / /srv rw - ext4 /dev/sdb rw".replace(" ", "\\040")
    tree.mounts(f"30 1 8:1 / {point} rw,relatime shared:1 - ext4 /dev/sda1 rw", "31 1 0:5 / /dev rw - devtmpfs udev rw")
    found = mounts(tree.sys)
    assert [(m.devno, m.point) for m in found] == [("8:1", point.replace("\\040", " ")), ("0:5", "/dev")]
    assert found[0].source == "/dev/sda1"


@pytest.mark.parametrize("space", SPACES)
def test_a_control_group_whose_name_has_the_line_of_another_is_not_in_that(tmp_path: Path, space: str) -> None:
    """A user may make groups below its own: it would be told with the quota and the members of a service."""
    tree = Tree(tmp_path)
    tree.mounts("30 1 0:26 / /cg rw - cgroup2 cgroup2 rw")
    tree.file("/proc/7/cgroup", f"0::/user.slice/a{space}0::/system.slice/postgres.service")
    assert "/system.slice/postgres.service" not in {name for _, name in groups(tree.sys, 7)}


def test_who_has_a_file_with_any_name_in_its_memory_hides_nobody(tmp_path: Path) -> None:
    """What the safety gate asks before a device is written to ended with a ``ValueError``."""
    one, held = tmp_path / "a\rb c d 1 1 e", tmp_path / "held"
    for path in (one, held):
        path.write_bytes(bytes(mmap.PAGESIZE))
    words = [sys.executable, "-c", MAPPER, str(one), str(held)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout is not None and child.stdout.readline() == "1\n"
            assert b"\r" in Path(f"/proc/{child.pid}/maps").read_bytes()
            found = openers({place_of(held.stat()): "it"})
        finally:
            child.kill()
    assert [f"process {child.pid} " in why for why in found.reasons] == [True]
