"""A node of an ordinary user: it measures what that user may use, and says what it may not, where, why and what to do.

The command is started by root, so that nothing but the node's own rights is missing.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from commands import STRATA, strata
from driven import DISK_AND_FILE
from fleet_peers import Running, cluster
from loops import MIB, image, loop, mounted, need, need_root, run, unmount
from others import OTHER, directory_of_another
from tracing import HIDDEN, with_tracefs

pytestmark = pytest.mark.root
STACK = f"""
[stack]
name = "of a user"
scheduler = "{{address}}"

[[node]]
name = "n1"
owner = true
{DISK_AND_FILE}
[[layer]]
name = "share"
node = "n1"
on = ["file"]
endpoint = "nbd://127.0.0.1:0/own"
"""
SHOWN = (
    'mount --bind "$1" "$2" && mount -t tmpfs -o mode=755 tmpfs "$3" && mkdir -p "$1" && mount --move "$2" "$1" '
    '&& shift 3 && exec "$@"'
)


def as_another(folder: Path) -> list[str]:
    """Words before a command of the other user. An interpreter below a directory that is shut to others is shown to it
    in a mount namespace of its own, in which nothing else is below that directory."""
    user = [need("setpriv"), f"--reuid={OTHER}", f"--regid={OTHER}", "--clear-groups", "--"]
    home = Path(sys.base_prefix).resolve()
    shut = next((path for path in reversed(home.parents) if not path.stat().st_mode & 0o001), None)
    if shut is None:
        return user
    (at := folder / "interpreter").mkdir()
    return ["unshare", "--mount", "sh", "-c", SHOWN, "sh", str(home), str(at), str(shut), *user]


@contextmanager
def shut(device: str) -> Iterator[None]:
    """For root alone, as a machine has its devices; without udev every user may read one that was just made."""
    mode = Path(device).stat().st_mode
    Path(device).chmod(0o600)
    try:
        yield
    finally:
        Path(device).chmod(mode)


@pytest.fixture(scope="module")
def volume(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """A disk in memory, and a directory of the other user on its file system."""
    need_root()
    (memory := tmp_path_factory.mktemp("disk") / "memory").mkdir()
    run("mount", "-t", "tmpfs", "-o", "size=128m", "tmpfs", str(memory))
    try:
        with loop(image(memory / "disk", 96 * MIB)) as device, shut(device), directory_of_another() as theirs:
            run(need("mkfs.ext4"), "-q", device)
            with mounted(device, theirs.parent / "volume") as folder:
                (own := folder / "own").mkdir()
                os.chown(own, OTHER, OTHER)
                yield device, own
    finally:
        unmount(memory)


@pytest.fixture(scope="module")
def node(volume: tuple[str, Path]) -> Iterator[Running]:
    """n1, with a tracefs that its user may not write to."""
    with directory_of_another() as theirs:
        (state := theirs.parent / "n1").mkdir(mode=0o700)
        os.chown(state, OTHER, OTHER)
        words = with_tracefs(*as_another(theirs.parent))
        with cluster(theirs.parent, ["n1"], apart={"n1": words}) as running:
            status = Path(f"/proc/{running.nodes['n1'].pid}/status").read_text()
            assert f"Uid:\t{OTHER}\t{OTHER}" in status and "CapEff:\t0000000000000000" in status
            yield running


def stack(folder: Path, at: Running, device: str, data: Path) -> Path:
    (path := folder / "stack.toml").write_text(STACK.format(address=at.address, device=device, path=data))
    return path


def diagnosed(where: Path, *words: object) -> subprocess.CompletedProcess[str]:
    asked = ("--rounds", "2", "--runtime", "200ms", "--ramp-time", "50ms", "--workloads", "randread-8KiB-qd1")
    return strata("diagnose", where, *asked, "--size", "16m", "--progress", "none", "--no-confirm", *words)


@pytest.mark.ci
def test_what_it_may_use_is_measured_and_the_rest_is_said(
    tmp_path: Path, node: Running, volume: tuple[str, Path]
) -> None:
    device, own = volume
    done = diagnosed(stack(tmp_path, node, device, own / "strata.dat"), "--json")
    assert done.returncode in (0, 4), done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    assert {c["layer"] for c in found["cells"]} == {"file", "share"} and not found["failures"]
    said = found["run"]["message"]
    assert f"disk left out: on node n1: cannot open the device {device}: permission denied; run as root" in said, said
    # What it cannot count is missing beside what it can, with the reason.
    for cell in found["cells"]:
        assert any("not allowed (perf_event_paranoid; CAP_PERFMON)" in why for why in cell["absent"]), cell["absent"]
        # Connections and control groups are everybody's to read.
        assert not [why for why in cell["absent"] if why.startswith(("tcp", "cgroup"))], cell["absent"]
    assert found["verdict"]["kind"] in ("limited", "as-expected", "inconclusive"), found["verdict"]
    survey = found["run"]["survey"]
    assert survey["privileged"] is False and survey["unreadable"]
    assert list(own.iterdir()) == [], "what it made is gone"


def test_its_rights_and_what_it_cannot_read_are_listed(node: Running) -> None:
    told = strata("node", "list", node.address, "--json")
    (one,) = json.loads(told.stdout)["nodes"]
    assert one["node"]["root"] is False
    (why,) = [text for text in one["node"]["absent"] if text.startswith("cycles: ")]
    assert "not allowed" in why
    text = strata("node", "list", node.address).stdout
    assert f"n1: not read: {why}" in text and " user " in text


@pytest.mark.ci
def test_a_trace_that_it_may_not_take_is_refused_before_anything_is_made(
    tmp_path: Path, node: Running, volume: tuple[str, Path]
) -> None:
    """By a process that may not either: on one machine that would trace in its place."""
    device, own = volume
    where = stack(tmp_path, node, device, own / "strata.dat")
    for words in (
        ["trace", str(where), "--nodes", node.address, "--seconds", "0.2"],
        ["diagnose", str(where), "--trace"],
    ):
        argv = [*HIDDEN, *STRATA, *words]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 1 and list(own.iterdir()) == []
        said = "n1 (disk, file): cannot trace its devices: creating a tracing instance needs root; run it with sudo"
        assert said in done.stderr and "a node: join it as root" in done.stderr, done.stderr


@pytest.mark.ci
def test_where_it_may_not_write_or_read_is_named_with_the_node(
    tmp_path: Path, node: Running, volume: tuple[str, Path]
) -> None:
    device, own = volume
    shut = diagnosed(stack(tmp_path, node, device, own.parent / "strata.dat"))
    assert shut.returncode == 1, shut.stderr
    assert f"cannot use the directory {own.parent} on node n1: you have no permission to write to it" in shut.stderr
    assert "hint: give a directory of your own on the same device" in shut.stderr
    words = (f"block:{device}", "--nodes", node.address, "--runtime", "1s", "--progress", "none")
    raw = strata("measure", *words)
    assert raw.returncode == 1, raw.stdout
    said = f"client 0 on n1: cannot open the device {device}: permission denied; run as root"
    assert said in raw.stderr, raw.stderr
    # None is gone that could come back.
    assert "hint: once what they said is mended: strata measure --resume " in raw.stderr, raw.stderr
