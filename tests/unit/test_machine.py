"""Processors, memory, limits and load from recorded files."""

from __future__ import annotations

from pathlib import Path
from sys import byteorder

import pytest
from kernel_tree import Tree

from strata.app.place import check_memory
from strata.discover import load
from strata.discover.cpu import cpu
from strata.discover.limits import cpu_limit, limits, memory_limit
from strata.discover.memory import memory
from strata.engine import Backing
from strata.errors import RunFailed


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


def test_a_processor_with_everything(tree: Tree) -> None:
    tree.file(
        "/proc/cpuinfo", "\n".join(f"processor\t: {n}\nmodel name\t: EPYC 9354\ncpu MHz\t: 3249.9\n" for n in range(4))
    )
    tree.file("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "schedutil")
    tree.file("/sys/devices/system/cpu/cpufreq/boost", 1)
    tree.file("/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc")
    for node in ("node0", "node1", "possible"):
        tree.file(f"/sys/devices/system/node/{node}/x", 0)
    found = cpu(tree.sys, quota=1.5)
    assert (found.model, found.logical, found.usable, found.numa_nodes) == ("EPYC 9354", 4, 1.5, 2)
    assert (found.governor, found.turbo, found.clocksource, found.mhz) == ("schedutil", True, "tsc", 3249.9)
    assert found.hypervisor is None


def test_a_virtual_arm_processor_with_little(tree: Tree) -> None:
    tree.file("/proc/cpuinfo", "processor\t: 0\nBogoMIPS\t: 50.00\nFeatures\t: fp hypervisor\nCPU part\t: 0xd0c\n")
    found = cpu(tree.sys)
    assert (found.model, found.logical, found.usable, found.hypervisor) == ("0xd0c", 1, 1.0, "unnamed")
    assert (found.governor, found.turbo, found.mhz) == (None, None, None)
    tree.file("/sys/class/dmi/id/sys_vendor", "QEMU")
    assert cpu(tree.sys).hypervisor == "QEMU"
    tree.file("/sys/devices/system/cpu/intel_pstate/no_turbo", 1)
    assert cpu(tree.sys).turbo is False


def test_the_deepest_sleep_is_that_which_is_switched_on_and_not_slower_than_somebody_asked_for(tree: Tree) -> None:
    assert (cpu(tree.sys).idle_state, cpu(tree.sys).idle_wake_us) == (None, None)
    for number, (name, wake_us, off) in enumerate((("POLL", 0, 0), ("C1", 2, 0), ("C6", 133, 0), ("C10", 890, 1))):
        state = f"/sys/devices/system/cpu/cpu0/cpuidle/state{number}"
        for file, value in (("name", name), ("latency", wake_us), ("disable", off)):
            tree.file(f"{state}/{file}", value)
    # Somebody may have asked for less, and an ordinary user may not know.
    assert (cpu(tree.sys).idle_state, cpu(tree.sys).idle_wake_us) == (None, None)
    asked = tree.sys.at("/dev/cpu_dma_latency")
    asked.parent.mkdir()
    for at_most, deepest in ((2_000_000_000, ("C6", 133)), (20, ("C1", 2)), (0, ("POLL", 0))):
        asked.write_bytes(at_most.to_bytes(4, byteorder))
        found = cpu(tree.sys)
        assert (found.idle_state, found.idle_wake_us) == deepest


def test_memory(tree: Tree) -> None:
    assert memory(tree.sys) is None
    tree.file(
        "/proc/meminfo", "MemTotal: 1000 kB\nMemFree: 200 kB\nBuffers: 10 kB\nCached: 300 kB\nDirty: 7 kB\nHuge: x"
    )
    found = memory(tree.sys, 4096)
    assert found is not None
    assert (found.total, found.available, found.cached, found.dirty) == (1000 << 10, 510 << 10, 310 << 10, 7 << 10)
    assert (found.swap_total, found.limit) == (0, 4096)


@pytest.mark.parametrize(("limit", "most"), [("max", 256 << 20), (512 << 20, 128 << 20)])
def test_a_store_in_memory_takes_a_quarter_of_what_the_machine_or_the_group_has(
    limit: str | int, most: int, tree: Tree
) -> None:
    """A group that is small has its largest process ended, and that may be the measurement."""
    tree.file("/proc/meminfo", f"MemTotal: {4 << 20} kB\nMemAvailable: {1 << 20} kB")
    tree.mounts("31 1 0:29 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw")
    tree.file("/proc/self/cgroup", "0::/a")
    tree.file("/sys/fs/cgroup/a/memory.max", limit)
    check_memory(Backing(kind="memory", size_bytes=most, read_only=False), tree.sys)
    check_memory(Backing(kind="null", size_bytes=1 << 50), tree.sys)
    with pytest.raises(RunFailed, match="a quarter of what is available"):
        check_memory(Backing(kind="memory", size_bytes=most + 1, read_only=False), tree.sys)


def test_limits_of_version_2_take_the_tightest_of_all_parents(tree: Tree) -> None:
    tree.mounts("31 1 0:29 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw")
    tree.file("/proc/self/cgroup", "0::/a/b")
    tree.file("/sys/fs/cgroup/a/memory.max", 1 << 30)
    tree.file("/sys/fs/cgroup/a/b/memory.max", "max")
    tree.file("/sys/fs/cgroup/a/cpu.max", "50000 100000")
    tree.file("/sys/fs/cgroup/a/b/cpu.max", "max 100000")
    tree.file("/sys/fs/cgroup/a/b/io.max", "8:0 rbps=max wbps=1048576 riops=500 wiops=max\n259:0 rbps=7 wbps=max")
    found = limits(tree.sys)
    assert found == {
        "memory": str(1 << 30),
        "cpu": "0.5",
        "io 8:0 wbps": "1048576",
        "io 8:0 riops": "500",
        "io 259:0 rbps": "7",
    }
    assert (memory_limit(found), cpu_limit(found)) == (1 << 30, 0.5)


def test_limits_of_version_1(tree: Tree) -> None:
    tree.mounts(
        "34 1 0:31 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct",
        "35 1 0:32 /docker/x /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory",
        "36 1 0:33 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio",
    )
    tree.file("/proc/self/cgroup", "3:cpu,cpuacct:/a\n2:memory:/docker/x\n1:blkio:/\n0::/")
    tree.file("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", 150000)
    tree.file("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", 100000)
    tree.file("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", -1)
    tree.file("/sys/fs/cgroup/memory/memory.limit_in_bytes", 512 << 20)
    tree.file("/sys/fs/cgroup/blkio/blkio.throttle.write_iops_device", "254:0 2000")
    assert limits(tree.sys) == {"cpu": "1.5", "memory": str(512 << 20), "io 254:0 wiops": "2000"}
    tree.file("/sys/fs/cgroup/memory/memory.limit_in_bytes", 9223372036854771712)
    assert memory_limit(limits(tree.sys)) is None


def test_no_limit_at_all_and_io_uring(tree: Tree) -> None:
    assert limits(tree.sys) == {}
    tree.file("/proc/sys/kernel/io_uring_disabled", 2)
    assert limits(tree.sys) == {"io_uring_disabled": "2"}


def test_load_between_two_looks(tree: Tree) -> None:
    net = "Inter-|\n lo: 100 1 0 0 0 0 0 0 100 1 0 0 0 0 0 0\n eth0:{} 1 0 0 0 0 0 0 50 1 0 0 0 0 0 0"
    tree.file("/proc/stat", "cpu 100 0 50 800 50 0 0 0 0 0\ncpu0 1")
    tree.file("/proc/diskstats", "8 0 sda 10 0 80 1 20 0 160 2 0 3 3\n8 1 sda1 5 0 0 0 0 0 0 0 0 0 0")
    tree.file("/proc/net/dev", net.format("1000"))
    first = load.look(tree.sys, lambda: 0)
    tree.file("/proc/stat", "cpu 130 0 50 860 50 0 0 10 0 0\ncpu0 1")
    tree.file(
        "/proc/diskstats", "8 0 sda 15 0 80 1 35 0 160 2 0 3 3\n8 1 sda1 5 0 0 0 0 0 0 0 0 0 0\n8 2 new 9 0 0 0 9 0 0 0"
    )
    tree.file("/proc/net/dev", net.format("3000"))
    found = load.between(first, load.look(tree.sys, lambda: 2_000_000_000), 0.7)
    assert (found.seconds, found.load1) == (2.0, 0.7)
    assert (found.cpu_busy, found.cpu_steal) == (0.4, 0.1)
    assert found.disk_iops == {"sda": 10.0}
    assert found.net_bytes == {"eth0": 1000.0}


def test_load_without_any_file(tree: Tree) -> None:
    found = load.measure(tree.sys, 0.5, sleep=lambda _: None)
    assert (found.cpu_busy, found.cpu_steal, found.disk_iops) == (0.0, 0.0, {})


def test_a_file_that_cannot_be_read_is_remembered(tree: Tree) -> None:
    (tree.root / "sys").mkdir()
    (tree.root / "sys/unreadable").mkdir()
    sys = tree.sys
    assert sys.text("/sys/unreadable") is None
    assert sys.text("/sys/absent") is None
    assert sys.missed == {"/sys/unreadable"}
