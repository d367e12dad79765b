"""Who issues I/O: a process that reads is told with what it read, its group, and where its threads wait."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from strata.probes.issuers import Issuers, _kind, group_of, process_of_thread

WRITER = """
import os, sys, time
fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT, 0o600)
while True:
    os.write(fd, b"x" * 65536); os.fsync(fd); time.sleep(0.01)
"""


def test_a_command_is_told_with_what_it_moves_and_where_it_waits(tmp_path: Path) -> None:
    looked = Issuers(look_s=0.02).start()
    child = subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path / "out")])
    try:
        looked.command(child.pid)
        time.sleep(1.5)
        found = {i.pid: i for i in looked.stop()}
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()
    mine = found[child.pid]
    assert mine.watched
    assert mine.asked_bytes > 65536
    # A write of 64 KiB is one call; the interpreter's own reads are in it too, as it is counted from its birth.
    assert mine.asked_ios is not None and mine.asked_ios >= mine.asked_bytes / 65536 / 2
    assert mine.threads is not None
    assert mine.threads.looks > 10
    told = mine.threads
    assert told.running + told.storage + told.sleeping + told.other == told.looks


def test_this_process_is_not_its_own_issuer() -> None:
    assert os.getpid() not in {i.pid for i in Issuers().start().stop()}


def test_containers_and_machines_are_told_by_their_groups() -> None:
    assert _kind("postgres", f"/system.slice/docker-{'a' * 64}.scope", 9) == "container"
    assert _kind("qemu-system-x86", "/machine.slice/machine-qemu\\x2d1.scope", 9) == "vm"
    assert _kind("fio", "/user.slice", 9) == "process"


def test_of_several_hierarchies_the_group_that_tells_most_is_told() -> None:
    long = "4:memory:/a-path-that-says-nothing-and-is-longer-than-all-the-others"
    assert group_of([long, "0::/machine.slice/machine-qemu\\x2d1.scope"]) == "/machine.slice/machine-qemu\\x2d1.scope"
    assert group_of(["1:name=systemd:/a.service", long]) == "/a.service"
    assert group_of(["3:cpu:/a", long, "0::/"]) == long[9:]
    assert group_of(["0::/a:b"]) == "/a:b"
    assert group_of([]) == ""


def test_a_thread_has_its_process_and_one_of_the_kernel_is_known() -> None:
    assert process_of_thread(os.getpid()) == (os.getpid(), False)
    kernel = [int(p.name) for p in Path("/proc").iterdir() if p.name.isdigit() and _of_the_kernel(p)]
    assert all(process_of_thread(pid)[1] for pid in kernel[:3])


def _of_the_kernel(path: Path) -> bool:
    try:
        return not (path / "cmdline").read_bytes() and (path / "stat").read_text().rpartition(")")[2].split()[1] == "2"
    except OSError:
        return False


def test_who_has_gone_is_told_by_its_own_number() -> None:
    child = subprocess.Popen(["true"])
    child.wait()
    assert process_of_thread(child.pid) == (child.pid, False)


AGAIN = """
import os, subprocess, sys, time
child = 'import os, sys, time; fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT, 0o600)\\n'
child += 'for _ in range(10): os.write(fd, b"x" * 1048576); os.fsync(fd); time.sleep(0.06)'
for _ in range(2):
    subprocess.run([sys.executable, "-c", child, sys.argv[1]], check=True)
time.sleep(60)
"""
WRITTEN = 20 << 20


def test_a_parent_that_waits_for_its_children_is_not_told_with_what_they_moved(tmp_path: Path) -> None:
    """The kernel adds what a child had counted to its parent once that has waited for it."""
    looked = Issuers(look_s=0.02).start()
    began = time.monotonic()
    child = subprocess.Popen([sys.executable, "-c", AGAIN, str(tmp_path / "out")])
    try:
        looked.command(child.pid)
        while _written(child.pid) < WRITTEN:
            assert time.monotonic() < began + 60
            time.sleep(0.05)
        time.sleep(0.7)
        found = [i for i in looked.stop() if i.watched]
        seconds = time.monotonic() - began
    finally:
        child.kill()
        child.wait()
    told = {i.pid: i.asked_bytes * seconds for i in found}
    # All of it once. What a child did after it was seen for the last time is its parent's.
    assert len(told) == 3
    assert WRITTEN <= sum(told.values()) < 1.3 * WRITTEN
    assert told[child.pid] < 0.6 * WRITTEN


def _written(pid: int) -> int:
    """With what its children wrote that it has waited for."""
    pairs = dict(line.split(": ") for line in Path(f"/proc/{pid}/io").read_text().splitlines())
    return int(pairs["wchar"])
