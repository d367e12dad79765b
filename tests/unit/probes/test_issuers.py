"""Who issues I/O: a process that reads is told with what it read, its group, and where its threads wait."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from strata.app.watch_every import LOOKS
from strata.model.watch import LOOKS_FEWEST
from strata.probes.issuers import THREADS_SHARE, Issuers, _kind, group_of, process_of_thread
from tests.unit.kernel_tree import Tree

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


def test_a_watching_that_goes_on_sees_where_threads_wait_in_each_slice_but_the_first(tmp_path: Path) -> None:
    """It looks at all processes once a slice, and at the threads of those that moved data in the one before."""
    looked = Issuers(look_s=0.02, all_s=3600.0).start()
    child = subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path / "out")])
    try:
        told = []
        for _ in range(3):
            time.sleep(0.7)
            told.append(next(i for i in looked.take() if i.pid == child.pid))
    finally:
        looked.stop()
        child.send_signal(signal.SIGKILL)
        child.wait()
    assert all(one.threads is not None and one.threads.looks > 5 for one in told[1:]), told


def test_one_thread_alone_has_looks_enough_for_a_share_of_them_in_each_slice(tmp_path: Path) -> None:
    """At the pace of a watching that goes on, for a thread that writes and waits. It is the first of those that are
    looked at; of a machine that others use, too, the one that moves most is.
    """
    slice_s = 3.0
    looked = Issuers(look_s=slice_s / LOOKS, all_s=3600.0, threads_share=THREADS_SHARE).start()
    child = subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path / "out")])
    looked.command(child.pid)
    try:
        told = []
        for _ in range(2):
            time.sleep(slice_s)
            told.append(next(i for i in looked.take() if i.pid == child.pid))
    finally:
        looked.stop()
        child.send_signal(signal.SIGKILL)
        child.wait()
    # A machine may stand still in one of them.
    assert max(one.threads.looks for one in told if one.threads is not None) >= LOOKS_FEWEST, told


def test_looks_at_threads_take_no_more_of_a_cpu_than_they_may_and_each_has_its_turn(tmp_path: Path) -> None:
    words = [sys.executable, "-c", WRITER]
    children = [subprocess.Popen([*words, str(tmp_path / str(n))]) for n in range(8)]
    try:
        # At the same time: of a machine that is busy now and not a moment later, both have the same.
        both = [Issuers(look_s=0.005, all_s=0.2, threads_share=share).start() for share in (1.0, 1e-4)]
        time.sleep(2.0)
        looks = []
        for looked in both:
            with looked._looking:
                looks.append([looked._seen[child.pid].looks for child in children])
        for looked in both:
            looked.stop()
    finally:
        for child in children:
            child.send_signal(signal.SIGKILL)
            child.wait()
    free, paced = looks
    assert min(paced) >= 1 and sum(paced) < sum(free) / 2, looks


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


GROUP = "/system.slice/docker-a.scope"


def _process(
    tree: Tree, written: int, periods: tuple[int, int], pid: int = 100, start: int = 5, group: str = GROUP
) -> None:
    """Process 100 and its group, as the kernel has them once so much was written and in so many periods throttled."""
    tree.file(f"/proc/{pid}/stat", f"{pid} (app) S 1 {' '.join(['0'] * 17)} {start} 0 0")
    tree.file(
        f"/proc/{pid}/io", f"rchar: 0\nwchar: {written}\nsyscr: 0\nsyscw: 1\nread_bytes: 0\nwrite_bytes: {written}"
    )
    tree.file(f"/proc/{pid}/cgroup", f"0::{group}")
    tree.mounts("30 1 0:26 / /cg rw - cgroup2 cgroup2 rw")
    tree.file(f"/cg{group}/cpu.stat", f"nr_periods {periods[0]}\nnr_throttled {periods[1]}")


def test_a_quota_that_was_used_up_once_is_told_in_that_slice_alone(tmp_path: Path) -> None:
    """A watching goes on for days: what a container was refused in its first minute limits nothing an hour later."""
    tree = Tree(tmp_path)
    _process(tree, 0, (0, 0))
    looked = Issuers(tree.sys, look_s=60.0).start()
    try:
        told = []
        for written, periods in ((1, (100, 90)), (2, (200, 180)), (3, (300, 180)), (4, (400, 190))):
            _process(tree, written * 10**6, periods)
            (one,) = looked.take()
            told.append(one.throttled)
        for idle in (1, 3):
            # It does nothing for some slices, in which its group is held back for something else.
            for _ in range(idle):
                periods = periods[0] + 100, periods[1] + 100
                _process(tree, written * 10**6, periods)
                assert looked.take() == ()
            written, periods = written + 1, (periods[0] + 100, periods[1])
            _process(tree, written * 10**6, periods)
            (one,) = looked.take()
            told.append(one.throttled)
    finally:
        looked.stop()
    # Of who does nothing for long nobody reads the quota: of the slice in which it begins none is known.
    assert told == [None, 0.9, 0.0, 0.1, 0.0, None]


def test_on_a_busy_host_the_threads_of_the_command_and_of_who_moves_most_are_looked_at(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    looked = Issuers(tree.sys, look_s=60.0).start()
    try:
        for pid in range(100, 140):
            # The last one moves most, and the first one least; 103 is the command.
            _process(tree, 10**6 * (pid - 99), (0, 0), pid)
            tree.file(f"/proc/{pid}/task/{pid}/stat", f"{pid} (app) D 1 {' '.join(['0'] * 19)}")
        looked.command(103)
        looked.take()
        looked._look_at_threads()
        chosen = {pid for pid, one in looked._seen.items() if one.looks}
    finally:
        looked.stop()
    assert 103 in chosen and 8 < len(chosen) <= 13 and chosen - {103} == set(range(141 - len(chosen), 140)), chosen


def test_a_number_that_was_given_out_again_has_its_own_group_and_nothing_is_kept_of_the_gone(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    looked = Issuers(tree.sys, look_s=60.0).start()
    try:
        _process(tree, 10**6, (100, 90))
        (one,) = looked.take()
        assert (one.group, one.kind) == (GROUP, "container")
        _process(tree, 10**6, (7, 0), start=6, group="/backup.service")
        (one,) = looked.take()
        assert (one.group, one.kind, one.throttled) == ("/backup.service", "process", None)
        for pid in range(101, 111):
            _process(tree, 10**6, (1, 1), pid)
        assert len(looked.take()) == 10
        for pid in range(100, 111):
            shutil.rmtree(tmp_path / "proc" / str(pid))
        looked.take()
        assert (looked._seen, looked._groups, looked._quotas) == ({}, {}, {})
    finally:
        looked.stop()


def _below(tree: Tree, pid: int, parent: int, start: int, written: int = 0) -> None:
    _process(tree, written, (0, 0), pid, start)
    tree.file(f"/proc/{pid}/stat", f"{pid} (app) S {parent} {' '.join(['0'] * 17)} {start} 0 0")


def _gone(tmp_path: Path, *pids: int) -> None:
    for pid in pids:
        shutil.rmtree(tmp_path / "proc" / str(pid))


def test_who_has_the_number_of_the_command_or_of_one_below_it_later_is_not_the_commands(tmp_path: Path) -> None:
    """Nor are its children: with 32,768 numbers they come again within minutes on a busy host."""
    tree = Tree(tmp_path)
    _below(tree, 100, 1, 5)
    looked = Issuers(tree.sys, look_s=60.0).start()
    try:
        looked.command(100)
        _below(tree, 101, 100, 6)
        looked.take()
        assert looked.family == (100, 101)
        # One below it ends and is still its own; the numbers are given to others, one of which has a child.
        _gone(tmp_path, 101)
        looked.take()
        assert looked.family == (100, 101)
        _below(tree, 101, 1, 9, 10**6)
        _below(tree, 102, 101, 10, 10**6)
        told = {i.pid: i.watched for i in looked.take()}
        assert told == {100: True, 101: False, 102: False} and looked.family == (100,)
        _below(tree, 100, 1, 11, 2 * 10**6)
        _below(tree, 103, 100, 12, 10**6)
        assert not any(i.watched for i in looked.take()) and looked.family == ()
    finally:
        looked.stop()


def test_a_command_that_begins_processes_without_an_end_costs_no_memory_without_an_end(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    _below(tree, 100, 1, 5)
    looked = Issuers(tree.sys, look_s=60.0).start()
    looked._gone_most = 20
    try:
        looked.command(100)
        for n in range(60):
            _below(tree, 200 + n, 100, 6 + n, 10**6 * (n + 1))
            looked._look_at_all()
            _gone(tmp_path, 200 + n)
            looked._look_at_all()
            assert len(looked._seen) <= 22
        assert len(looked.family) == 61, "whose requests are traced is still known"
        assert {i.pid for i in looked.take()} & {258, 259} == {258, 259}, "who moved most is kept"
    finally:
        looked.stop()


AGAIN = """
import os, subprocess, sys, time
child = 'import os, sys, time; fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT, 0o600)\\n'
child += 'for _ in range(10): os.write(fd, b"x" * 1048576); os.fsync(fd); time.sleep(0.06)\\n'
# It is still there when all that it wrote is seen, however late the looks are.
child += 'time.sleep(0.5)'
for _ in range(2):
    subprocess.run([sys.executable, "-c", child, sys.argv[1]], check=True)
time.sleep(60)
"""
WRITTEN = 20 << 20


def test_a_parent_that_waits_for_its_children_is_not_told_with_what_they_moved(tmp_path: Path) -> None:
    """The kernel adds what a child had counted to its parent once that has waited for it."""
    # Before the first look: its rates are over less time, never over more.
    began = time.monotonic()
    looked = Issuers(look_s=0.02).start()
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
