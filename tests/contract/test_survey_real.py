"""The survey of the machine at hand, and of devices made for it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest
from loops import image, loop, mounted, need, need_root, run

from strata.discover.stackfile import draft
from strata.discover.survey import survey
from strata.model.stack import Stack
from strata.model.survey import Survey


def test_this_machine(tmp_path: Path) -> None:
    found = survey(tmp_path, load_seconds=0.05)
    assert found.hostname == socket.gethostname()
    assert found.memory.total >= found.memory.available > 0
    assert found.cpu.usable <= found.cpu.logical == os.cpu_count()
    assert found.load.seconds >= 0.05
    assert 0 <= found.load.cpu_busy <= 1
    fs = found.file_system
    assert fs.size >= fs.free >= fs.available >= 0
    assert tmp_path.is_relative_to(fs.mount_point)
    for device in found.devices:
        assert device.size == int(Path(f"/sys/class/block/{device.name}/size").read_text()) * 512
    assert Survey.model_validate_json(found.model_dump_json()) == found
    assert Stack.from_toml(draft(found, str(tmp_path / "strata.dat"), None)).layers[-1].name == "file system"


def test_a_path_that_does_not_exist_yet(tmp_path: Path) -> None:
    found = survey(tmp_path / "not" / "yet", load_seconds=0)
    assert found.file_system.mount_point == survey(tmp_path, load_seconds=0).file_system.mount_point


def test_proc_is_a_file_system_without_devices() -> None:
    found = survey(Path("/proc/self"), load_seconds=0)
    assert (found.file_system.kind, found.devices) == ("proc", ())
    assert any(gap.startswith("block devices under proc") for gap in found.unreadable)


@pytest.mark.root
def test_ext4_on_a_loop_device_down_to_the_medium(tmp_path: Path) -> None:
    need_root()
    img = image(tmp_path / "a disk.img")
    run(need("mkfs.ext4"), "-q", str(img))
    with ExitStack() as held:
        device = held.enter_context(loop(img))
        at = held.enter_context(mounted(device, tmp_path / "a mount", "-o", "nobarrier"))
        found = survey(at / "strata.dat", load_seconds=0)
        text = draft(found, str(at / "strata.dat"), "nbd://localhost:1/x")
        host = survey(tmp_path, load_seconds=0)
    assert (found.file_system.kind, found.file_system.mount_point) == ("ext4", str(at))
    first = found.devices[0]
    assert (first.kind, first.path, first.detail["backing_file"], first.size) == ("loop", device, str(img), 16 << 20)
    assert first.detail["raw_read"] == "yes"
    # Below the loop device lies what carries the image's own file system.
    assert found.devices[1:] == host.devices
    codes = {n.code for n in found.notices}
    assert {"device.loop", "fs.low-space"} <= codes
    stack = Stack.from_toml(text)
    assert [layer.endpoint for layer in stack.layers][:2] == [f"block:{device}", f"file:{at}/strata.dat"]


@pytest.mark.root
def test_tmpfs_is_said_to_be_memory(tmp_path: Path) -> None:
    need_root()
    with mounted("none", tmp_path / "mnt", "-o", "size=8m", kind="tmpfs") as at:
        found = survey(at, load_seconds=0)
    assert (found.file_system.kind, found.devices, found.file_system.size) == ("tmpfs", (), 8 << 20)
    assert {"fs.memory", "fs.low-space"} <= {n.code for n in found.notices}


@pytest.mark.root
def test_an_ordinary_user_sees_less_and_is_told(tmp_path: Path) -> None:
    need_root()
    code = (
        # Once with all rights: an ordinary user may be unable to read the interpreter of the tests.
        "from pathlib import Path; from strata.discover.survey import survey; survey(Path('/'), 0)\n"
        "import os; os.setgid(65534); os.setgroups([]); os.setuid(65534)\n"
        "s = survey(Path('/'), 0); print(s.privileged, len(s.devices), '|'.join(s.unreadable))"
    )
    packages = os.pathsep.join(p for p in sys.path if p)
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": packages},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    privileged, devices, gaps = done.stdout.strip().split(" ", 2)
    assert privileged == "False"
    if int(devices):
        assert "raw reads of /dev/" in gaps
