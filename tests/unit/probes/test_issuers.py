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
