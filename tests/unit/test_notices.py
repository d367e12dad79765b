"""Each notice is given when its cause is there, and none on a machine in order."""

from __future__ import annotations

from typing import Any

import pytest
from surveys import DISK, GOOD, PART

from strata.discover.notices import notices
from strata.model.hardware import (
    DevicePath,
    FileLayout,
    Geometry,
    Health,
    Interface,
    KernelLog,
    LogLine,
    Multipath,
    Placing,
    Tier,
)
from strata.model.survey import Severity, Survey


def bent(part: str = "", **facts: Any) -> Survey:
    if not part:
        return GOOD.model_copy(update=facts)
    return GOOD.model_copy(update={part: getattr(GOOD, part).model_copy(update=facts)})


def disk(**facts: Any) -> Survey:
    return bent(devices=(PART, DISK.model_copy(update=facts)))


def test_nothing_to_say_about_a_machine_in_order() -> None:
    assert notices(GOOD) == ()


def health(**facts: Any) -> Survey:
    return disk(health=Health(source="smartctl", **facts))


def paths(policy: str, *groups: tuple[str, str | None], how: str = "dm-multipath") -> Survey:
    each = tuple(DevicePath(name=f"sd{n}", state=state, group=group) for n, (state, group) in enumerate(groups))
    return disk(kind="multipath", multipath=Multipath(how=how, policy=policy, paths=each))


def placed(kind: str = "xfs", **facts: Any) -> Survey:
    """On an array of three disks' data and one parity, of 64 KiB."""
    told = Placing(unit=4096, fragments_per_gib=262144, mkfs="mkfs.xfs -d su=65536,sw=3", **facts)
    array = bent(devices=(DISK.model_copy(update={"kind": "md", "geometry": RAID0}),))
    return array.model_copy(update={"file_system": GOOD.file_system.model_copy(update={"kind": kind, "placing": told})})


RAID0 = Geometry(level="raid0", chunk=1 << 16, stripe=3 << 16, members=3, data=3)
RAID5 = RAID0.model_copy(update={"level": "raid5", "members": 4, "parity": 1})
ACTIVE, OTHER = "active group", "enabled group"
CASES = {
    "device.parity": disk(kind="md", geometry=RAID5),
    "fs.stripe-unknown": placed(),
    "fs.stripe-mismatch": placed(stripe_unit=1 << 15, stripe_width=3 << 15),
    "device.path-lost": paths("service-time", ("active", ACTIVE), ("failed", ACTIVE)),
    "device.one-path": paths("service-time", ("active", ACTIVE)),
    "device.path-failover": paths("service-time", ("active", ACTIVE), ("active", OTHER)),
    "device.failing": health(passed=False, critical=4),
    "device.media-errors": health(passed=True, pending=3),
    "device.worn": health(used=0.93, spare=0.5),
    "device.hot": health(celsius=61),
    "device.link-errors": health(link_errors=12),
    "device.errors-logged": bent(
        kernel_log=KernelLog(count=2, whole=True, lines=(LogLine(seconds=3, text="I/O error, dev sda", device="sda"),))
    ),
    "device.cache-tier": bent(tiers=(Tier(kind="bcache", at="bcache0", size=100 << 30, mode="writeback"),)),
    "fs.fragmented": bent(file=FileLayout(path="/data/x", size=1 << 30, fragments=20000, smallest=4096)),
    "fs.free-fragmented": bent(
        "file_system", placing=Placing(unit=4096, fragments_per_gib=262144, free_groups=100, free_groups_small=80)
    ),
    "machine.smt": bent("cpu", smt=True, threads_per_core=2),
    "machine.half-duplex": bent(interfaces=(Interface(name="eth0", kind="ethernet", duplex="half", card=True),)),
    "fs.no-direct": bent("file_system", options=("rw", "data=journal")),
    "fs.memory": bent("file_system", kind="tmpfs"),
    "fs.overlay": bent("file_system", kind="overlay"),
    "fs.remote": bent("file_system", kind="nfs4", remote=True, detail={"server": "nas"}),
    "fs.flush-not-sent": bent("file_system", detail={"flush": "not sent to the server"}),
    "fs.soft-mount": bent("file_system", detail={"when_silent": "errors (soft)"}),
    "fs.copy-on-write": bent("file_system", kind="btrfs"),
    "fs.compression": bent("file_system", detail={"compression": "zstd"}),
    "fs.nearly-full": bent("file_system", available=1 << 38),
    "fs.low-space": bent("file_system", available=1 << 29),
    "fs.read-only": bent("file_system", options=("ro",)),
    "fs.sync": bent("file_system", options=("rw", "sync")),
    "fs.errors": bent("file_system", detail={"errors": "3"}),
    "device.memory": disk(kind="zram", detail={"medium": "memory"}),
    "device.loop": disk(kind="loop", detail={"backing_file": "/x.img", "direct_io": "0"}),
    "device.hidden-medium": disk(kind="virtio", detail={"medium": "virtual, hidden"}),
    "device.crypt": disk(kind="crypt"),
    "device.misaligned": bent(devices=(PART.model_copy(update={"partition_start": 63 * 512}), DISK)),
    "device.stripe-misaligned": bent(devices=(PART.model_copy(update={"optimal_io": 3 << 19}), DISK)),
    "device.write-cache-unflushed": bent("file_system", options=("rw", "nobarrier")),
    "device.scheduler": disk(scheduler="none"),
    "device.degraded": disk(kind="md", detail={"md_degraded": "1", "md_level": "raid5"}),
    "device.rebuilding": disk(kind="md", detail={"md_sync": "resync"}),
    "device.read-only": disk(read_only=True),
    "machine.busy": bent("load", disk_iops={"sda": 900.0}),
    "machine.steal": bent("load", cpu_steal=0.1),
    "machine.governor": bent("cpu", governor="powersave"),
    "machine.clocksource": bent("cpu", clocksource="hpet"),
    "machine.turbo": bent("cpu", turbo=True),
    "machine.deep-sleep": bent("cpu", idle_state="C6", idle_wake_us=133),
    "machine.few-processors": bent("cpu", usable=1.0),
    "machine.virtual": bent("cpu", hypervisor="KVM"),
    "machine.cgroup-io": bent(limits={"io 8:0 riops": "500"}),
    "machine.cgroup-cpu": bent(limits={"cpu": "1.5"}),
    "machine.cgroup-memory": bent(limits={"memory": "1073741824"}),
    "machine.no-io-uring": bent(limits={"io_uring_disabled": "2"}),
    "machine.page-cache": bent("memory", total=64 << 30),
    "machine.dirty": bent("memory", dirty=1 << 30),
    "machine.debug-kernel": bent(kernel="6.1.0+debug"),
}


# What the same cause brings with it.
ALONG = {
    "fs.overlay": {"fs.no-direct"},
    "fs.low-space": {"fs.nearly-full", "machine.page-cache"},
    "fs.nearly-full": {"machine.page-cache"},
}


@pytest.mark.parametrize("code", CASES)
def test_each_cause_is_named_with_reason_and_step(code: str) -> None:
    found = {n.code: n for n in notices(CASES[code])}
    assert code in found
    assert set(found) - {code} <= ALONG.get(code, set())
    notice = found[code]
    assert notice.why
    assert notice.next_step or notice.severity is Severity.INFO


HEALTHY = {
    "an array that the file system knows": placed(stripe_unit=1 << 16, stripe_width=3 << 16),
    "ext4, which shows the whole stripe alone": placed("ext4", stripe_width=3 << 16),
    "a file system that cannot be told": placed("btrfs").model_copy(update={"file_system": GOOD.file_system}),
    "balanced paths": paths("service-time", ("active", ACTIVE), ("active", ACTIVE)),
    "balanced paths of NVMe": paths("round-robin", ("live", "optimized"), ("live", "optimized"), how="NVMe"),
    "a disk in order": health(passed=True, celsius=45, used=0.2, spare=1.0, pending=0, uncorrected=0, link_errors=0),
    "SMT off": bent("cpu", smt=False, threads_per_core=1),
    "one governor": bent("cpu", governors={"performance": "0-7"}),
    "a file in large pieces": bent(file=FileLayout(path="/data/x", size=1 << 40, fragments=8192)),
    "a small file": bent(file=FileLayout(path="/data/x", size=1 << 14, fragments=4)),
    "errors of other devices": bent(
        kernel_log=KernelLog(count=1, whole=True, lines=(LogLine(seconds=3, text="I/O error, dev sdz"),))
    ),
    "caches with a notice or a size of their own": bent(
        tiers=(Tier(kind="page cache", at="host", size=4 << 30), Tier(kind="device write cache", at="sda"))
    ),
}


@pytest.mark.parametrize("what", HEALTHY)
def test_nothing_is_said_of_what_is_in_order(what: str) -> None:
    assert notices(HEALTHY[what]) == ()


def test_of_several_governors_the_cpus_of_the_slow_one_are_named() -> None:
    (found,) = notices(
        bent("cpu", governor="performance, powersave", governors={"performance": "0-5", "powersave": "6-7"})
    )
    assert (found.code, found.what) == ("machine.governor", "CPUs run under powersave (CPU 6-7)")


def test_the_policy_of_nvme_that_uses_one_path() -> None:
    (found,) = notices(paths("numa", ("live", "optimized"), ("live", "optimized"), how="NVMe"))
    assert found.code == "device.path-failover" and "over 1 of its 2 paths (NVMe, numa)" in found.what


def test_a_device_that_states_its_limit_is_hot_before_it() -> None:
    assert [n.code for n in notices(health(celsius=56, celsius_limit=60))] == ["device.hot"]
    assert notices(health(celsius=54, celsius_limit=60)) == ()


def test_what_a_small_write_costs_on_parity_and_how_many_fragments_are_possible() -> None:
    (parity,) = notices(CASES["device.parity"])
    assert "full stripe of 192 KiB (3 × 64 KiB and 1 parity)" in parity.what and "up to 4 requests" in parity.why
    (fragments,) = notices(CASES["fs.fragmented"])
    assert "20\u202f000 fragments of 52.4 KiB" in fragments.what and "at most 262\u202f144" in fragments.what


def test_other_devices_and_other_limits_are_not_ours() -> None:
    assert notices(bent("load", disk_iops={"sdz": 9000.0})) == ()
    assert notices(bent(limits={"io 8:32 riops": "5", "rlimit nofile": "1024"})) == ()


def test_warnings_come_first() -> None:
    found = notices(bent(limits={"memory": "1073741824", "cpu": "1"}))
    assert [n.severity for n in found] == [Severity.WARNING, Severity.INFO]


def test_every_code_of_the_room_has_a_case() -> None:
    import re
    from pathlib import Path

    import strata.discover.notices as room

    text = "".join(p.read_text() for p in Path(room.__file__).parent.glob("*.py"))
    assert set(re.findall(r'"((?:fs|device|machine)\.[a-z-]+)"', text)) == set(CASES)
