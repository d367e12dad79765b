"""A real block device with a file system on it: the raw layer reads the file's own blocks and nothing else changes."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from commands import QUICK, measured, strata
from loops import MIB, checksum, image, loop, mounted, need, need_root, run

from strata import _core

SHORT = ("--rounds", "2", "--runtime", "150ms", "--workloads", "randread-8KiB-qd8", "--no-confirm", "--keep", *QUICK)


@pytest.fixture
def volume(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """A loop device and the ext4 on it, mounted."""
    need_root()
    disk = image(tmp_path / "disk.img", 96 * MIB)
    run(need("mkfs.ext4"), "-q", "-F", str(disk))
    with ExitStack() as made:
        device = made.enter_context(loop(disk))
        yield device, made.enter_context(mounted(device, tmp_path / "volume"))
    # What the file system says about itself after all of it.
    run(need("e2fsck"), "-fn", str(disk))


def diagnosed(where: Path, *words: object) -> dict[str, Any]:
    done = strata("diagnose", where, "--share", *SHORT, *words, "--json")
    assert done.returncode in (0, 4), done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def raw_equals_file(report: dict[str, Any], device: str) -> int:
    """Every byte of every raw segment is the file's; the number of segments."""
    data = report["run"]["data"]
    segments = data["segments"]["disk"]
    os.sync()
    with Path(data["path"]).open("rb") as f, Path(device).open("rb") as raw:
        for segment in segments:
            f.seek(segment["start"])
            raw.seek(segment["target"])
            assert f.read(segment["length"]) == raw.read(segment["length"])
    assert sum(s["length"] for s in segments) == data["size"] - MIB
    # The same logical blocks at every layer.
    logical = [(s["start"], s["length"]) for s in segments]
    for layer in ("file system", "share over loopback"):
        assert [(s["start"], s["length"]) for s in data["segments"][layer]] == logical
    return len(segments)


def test_three_layers_of_a_mounted_loop_device(volume: tuple[str, Path]) -> None:
    device, mount = volume
    other = mount / "other.bin"
    other.write_bytes(os.urandom(8 * MIB))
    os.sync()
    before = checksum(other)
    report = diagnosed(mount, "--size", "32m")
    layers = {layer["name"]: layer["endpoint"] for layer in report["run"]["plan"]["stack"]["layers"]}
    assert list(layers) == ["disk", "file system", "share over loopback"]
    assert layers["disk"] == f"block:{device}"
    assert {c["layer"] for c in report["cells"]} == set(layers)
    identity = report["run"]["data"]["identity"]
    assert re.fullmatch(r"the file's \d+ extents \(FIEMAP\); sampled blocks are equal", identity["disk"])
    assert set(identity) == set(layers)
    assert raw_equals_file(report, device) >= 1
    assert [p.name for p in mount.iterdir() if p.name.endswith(".dat")] == [Path(report["run"]["data"]["path"]).name]
    # Read from the device, not from memory; what other tests hold in memory stays there.
    assert _core.drop_cached(str(other), 0, 8 * MIB) == 0
    assert checksum(other) == before


def test_a_file_in_many_pieces(volume: tuple[str, Path]) -> None:
    device, mount = volume
    pieces = []
    for i in range(200):
        path = mount / f"piece{i}"
        try:
            with path.open("wb") as f:
                os.posix_fallocate(f.fileno(), 0, MIB)
        except OSError:
            path.unlink()
            break
        pieces.append(path)
    assert len(pieces) > 40
    for path in pieces[::2]:
        path.unlink()
    os.sync()
    report = diagnosed(mount, "--size", "24m")
    assert raw_equals_file(report, device) >= 8
    assert {c["layer"] for c in report["cells"]} == {"disk", "file system", "share over loopback"}
    assert all(c["errors"] == 0 for c in report["cells"])


def test_a_mounted_device_is_read_and_never_written(volume: tuple[str, Path]) -> None:
    device, _ = volume
    document = measured(f"block:{device}", "--rw", "randread", "--iodepth", 4, "--runtime", "150ms")
    assert document["result"]["read"]["ops"] > 0
    assert document["result"]["effective"]["direct"] is True
    for words in ((), ("--destructive", device)):
        done = strata("measure", f"block:{device}", "--rw", "randwrite", "--runtime", "150ms", *words, *QUICK)
        assert done.returncode == 5, done.stderr
    assert "mounted" in done.stderr


def test_an_empty_device_is_written_when_its_name_is_typed_again(tmp_path: Path) -> None:
    need_root()
    with loop(image(tmp_path / "empty.img")) as device:
        blank = checksum(device)
        uri = f"block:{device}"
        assert strata("measure", uri, "--rw", "randwrite", *QUICK).returncode == 5
        assert strata("measure", uri, "--rw", "randwrite", "--destructive", "/dev/loop", *QUICK).returncode == 5
        assert checksum(device) == blank
        words = ("--rw", "randwrite", "--destructive", device, "--runtime", "150ms")
        document = measured(uri, *words)
        assert document["result"]["write"]["ops"] > 0
        assert document["endpoint"] == uri
        assert checksum(device) != blank
