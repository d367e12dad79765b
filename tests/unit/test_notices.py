"""Each notice is given when its cause is there, and none on a machine in order."""

from __future__ import annotations

from typing import Any

import pytest
from surveys import DISK, GOOD, PART

from strata.discover.notices import notices
from strata.model.survey import Severity, Survey


def bent(part: str = "", **facts: Any) -> Survey:
    if not part:
        return GOOD.model_copy(update=facts)
    return GOOD.model_copy(update={part: getattr(GOOD, part).model_copy(update=facts)})


def disk(**facts: Any) -> Survey:
    return bent(devices=(PART, DISK.model_copy(update=facts)))


def test_nothing_to_say_about_a_machine_in_order() -> None:
    assert notices(GOOD) == ()


CASES = {
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
