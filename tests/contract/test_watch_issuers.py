"""Who issues I/O, by real control groups: `strata watch` beside readers in groups that are named as container runtimes
and libvirt name them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from absent import absent
from commands import STRATA
from loops import MIB, image, loop, need_root

pytestmark = pytest.mark.root
ID = "3f" * 32
"""Of a container: 64 hexadecimal digits."""
GROUPS = {
    f"docker-{ID}.scope": "container",
    f"libpod-{ID}.scope": "container",
    f"kubepods-besteffort-pod1.slice/cri-containerd-{ID}.scope": "container",
    "machine-qemu\\x2d7\\x2dweb.scope": "vm",
    "backup.service": "process",
}
READS = """
import mmap, os, sys, time
buffer = mmap.mmap(-1, 262144)
fd = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)
print("reading", flush=True)
while True:
    os.preadv(fd, [buffer], 0)
    time.sleep(0.02)
"""


def hierarchies() -> list[Path]:
    """Where a manager of services puts its groups: the unified hierarchy, and the named one of version 1."""
    found = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    return [Path(at) for _, at, kind, options, *_ in found if kind == "cgroup2" or "name=systemd" in options.split(",")]


@contextmanager
def own_group() -> Iterator[Path]:
    """An empty group of this test's own; it and the groups in it are removed. Their processes must have ended."""
    for root in hierarchies():
        made = root / f"own-{os.getpid()}"  # short: other hierarchies may have longer paths
        try:
            made.mkdir()
        except OSError:
            continue
        try:
            yield made
        finally:
            for folder, _, _ in os.walk(made, topdown=False):
                _removed(Path(folder))
        return
    absent("no hierarchy of control groups is mounted in which a group can be made")


def _removed(group: Path) -> None:
    """A process that has ended leaves its group a moment later."""
    deadline = time.monotonic() + 10
    while True:
        try:
            return group.rmdir()
        except OSError:
            assert time.monotonic() < deadline, f"{group} is still in use"
            time.sleep(0.02)


@contextmanager
def reader(device: str, group: Path) -> Iterator[int]:
    """A process that was put into the group before it read anything: its id."""
    group.mkdir(parents=True)
    # The shell joins and then becomes the reader.
    joined = ["sh", "-c", 'echo $$ > "$0" && exec "$@"', str(group / "cgroup.procs")]
    with subprocess.Popen([*joined, sys.executable, "-c", READS, device], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "reading\n"
            yield process.pid
        finally:
            process.kill()


def test_a_container_a_machine_and_a_service_are_told_by_the_groups_they_are_in(tmp_path: Path) -> None:
    need_root()
    with ExitStack() as open_ones:
        device = open_ones.enter_context(loop(image(tmp_path / "image", 16 * MIB), "--direct-io=on"))
        own = open_ones.enter_context(own_group())
        pids = {name: open_ones.enter_context(reader(device, own / name)) for name in GROUPS}
        argv = [*STRATA, "watch", device, "--for", "3s", "--no-trace", "--json"]
        for _ in range(5):
            done = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False)
            assert done.returncode in (0, 4), done.stderr
            issuers = {i["pid"]: i for i in json.loads(done.stdout)["issuers"]}
            # Only those that move most are told: other work on this machine may move more for a while.
            if issuers.keys() >= set(pids.values()):
                break
    told = {name: (issuers[pid]["kind"], issuers[pid]["group"]) for name, pid in pids.items()}
    assert told == {name: (kind, f"/{own.name}/{name}") for name, kind in GROUPS.items()}
    assert all(issuers[pid]["read_bytes"] > 65536 for pid in pids.values())
