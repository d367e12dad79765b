"""A survey of a machine with nothing to complain about, to be bent by tests."""

from __future__ import annotations

from strata.model.survey import Cpu, Device, FileSystem, Load, Memory, Survey

DISK = Device(
    name="sda",
    path="/dev/sda",
    devno="8:0",
    kind="scsi",
    rotational=True,
    write_cache="write back",
    scheduler="mq-deadline",
    physical_block=4096,
    alignment_offset=0,
    read_only=False,
    detail={"medium": "rotating disk", "raw_read": "yes"},
)
PART = DISK.model_copy(
    update={"name": "sda1", "path": "/dev/sda1", "devno": "8:1", "kind": "partition", "members": ("sda",)}
    | {"partition_start": 1 << 20, "detail": {"raw_read": "yes"}}
)
GOOD = Survey(
    path="/data",
    hostname="node-2",
    kernel="6.1.0",
    os="Debian",
    taken_unix_ns=1,
    file_system=FileSystem(
        kind="ext4",
        source="/dev/sda1",
        mount_point="/data",
        options=("rw", "relatime"),
        device="sda1",
        block_size=4096,
        size=1 << 42,
        free=1 << 41,
        available=1 << 41,
    ),
    devices=(PART, DISK),
    cpu=Cpu(model="X", logical=8, usable=8, numa_nodes=1, governor="performance", turbo=False, clocksource="tsc"),
    memory=Memory(total=4 << 30, available=3 << 30, cached=1 << 30, dirty=0, swap_total=0),
    load=Load(seconds=0.5, load1=0.1, cpu_busy=0.01, cpu_steal=0.0),
    privileged=True,
)
