"""A stack of the user's own: a kept test file, a foreign server that exports it, and a stack file."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

import pytest
from nbd_peers import listening

STACK = """
[stack]
name = "own"

[[layer]]
name = "file system"
endpoint = "file:{data}"

[[layer]]
name = "share"
on = ["file system"]
endpoint = "nbd+unix:///volume?socket={socket}"
expect.overhead_max = 0.15
"""
QUICK = ("--rounds", "2", "--runtime", "200ms", "--ramp-time", "50ms", "--progress", "none", "--no-confirm")


def serve(image: Path, socket: Path) -> subprocess.Popen[bytes]:
    words = ["qemu-nbd", "-k", str(socket), "-x", "volume", "-f", "raw", "-t", "-e", "4", "--cache=none", str(image)]
    server = subprocess.Popen(words)
    deadline = time.monotonic() + 20
    while not listening(socket):
        assert server.poll() is None and time.monotonic() < deadline
        time.sleep(0.05)
    return server


@pytest.mark.ci
@pytest.mark.peer
def test_a_foreign_server_of_our_file_is_a_layer(strata, disk: Path, tmp_path: Path) -> None:
    data, socket, stack = disk / "strata.dat", tmp_path / "s", tmp_path / "stack.toml"
    made = strata("measure", f"file:{data}", "--size", "64m", "--keep", "--runtime", "100ms", "--progress", "none")
    assert made.returncode == 0, made.stderr
    stack.write_text(STACK.format(data=data, socket=socket))
    server = serve(data, socket)
    try:
        done = strata("diagnose", stack, *QUICK, "--workloads", "randread-*-qd8,write-128*", "--json")
    finally:
        server.terminate()
        server.wait(20)
    assert done.returncode in (0, 4), done.stderr
    report = json.loads(done.stdout)
    assert {c["layer"] for c in report["cells"]} == {"file system", "share"}
    assert "mark" in report["run"]["data"]["identity"]["share"]
    assert data.exists(), "a file the user kept stays"


@pytest.mark.peer
def test_another_volume_is_not_the_same_data(strata, disk: Path, tmp_path: Path) -> None:
    data, other = disk / "strata.dat", disk / "other.dat"
    socket, stack = tmp_path / "s", tmp_path / "stack.toml"
    for path in (data, other):
        strata("measure", f"file:{path}", "--size", "32m", "--keep", "--runtime", "100ms", "--progress", "none")
    before = other.read_bytes()
    stack.write_text(STACK.format(data=data, socket=socket))
    server = serve(other, socket)
    try:
        done = strata("diagnose", stack, *QUICK)
    finally:
        server.terminate()
        server.wait(20)
    assert done.returncode == 5, done.stderr
    assert "two similar volumes" in done.stderr
    assert other.read_bytes() == before


def test_a_drafted_stack_file_is_read_back(strata, disk: Path, tmp_path: Path) -> None:
    drafted = tmp_path / "stack.toml"
    assert strata("survey", disk, "--write", drafted).returncode == 0
    assert strata("survey", disk, "--write", drafted).returncode == 0, "what Strata wrote it may replace"
    assert strata("plan", drafted).returncode == 0


def test_measure_takes_a_directory(strata, disk: Path) -> None:
    quick = ("--runtime", "200ms", "--ramp-time", "50ms", "--progress", "none", "--size", "32m", "--json")
    done = strata("measure", disk, "--rw", "randread", "--bs", "16k", "--iodepth", "4", "--rounds", "2", *quick)
    assert done.returncode in (0, 4), done.stderr
    cells = json.loads(done.stdout)["cells"]
    assert {c["workload"]["bs"] for c in cells} == {16384}
