"""A survey of a machine with nothing to complain about, to be bent by tests."""

from __future__ import annotations

from strata.model.hardware import (
    DevicePath,
    Geometry,
    Health,
    Interface,
    KernelLog,
    LogLine,
    Multipath,
    Placing,
    Tier,
)
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

NODE = GOOD.model_copy(
    update={
        "file_system": GOOD.file_system.model_copy(
            update={
                "kind": "xfs",
                "source": "/dev/mapper/mpatha",
                "device": "dm-0",
                "placing": Placing(
                    unit=4096,
                    fragments_per_gib=262144,
                    unit_advised=1 << 16,
                    align=8 << 18,
                    mkfs="mkfs.xfs -d su=262144,sw=8",
                ),
            }
        ),
        "devices": (
            DISK.model_copy(
                update={
                    "name": "dm-0",
                    "path": "/dev/dm-0",
                    "kind": "multipath",
                    "members": ("sda", "sdb"),
                    "geometry": Geometry(level="raid6", chunk=1 << 18, stripe=8 << 18, members=10, data=8, parity=2),
                    "multipath": Multipath(
                        how="dm-multipath",
                        policy="service-time",
                        groups=2,
                        queues_without_path=True,
                        paths=(
                            DevicePath(name="sda", state="active", group="active group", address="host1 rport-1:0-0"),
                            DevicePath(name="sdb", state="failed", group="enabled group", address="host2 rport-2:0-0"),
                        ),
                    ),
                }
            ),
            DISK.model_copy(
                update={
                    "health": Health(
                        source="smartctl",
                        passed=True,
                        celsius=61,
                        hours=31000,
                        pending=3,
                        link_errors=12,
                        reallocated=8,
                    )
                }
            ),
        ),
        "cpu": GOOD.cpu.model_copy(
            update={
                "logical": 32,
                "usable": 32,
                "sockets": 2,
                "cores_per_socket": 8,
                "threads_per_core": 2,
                "smt": True,
                "governor": "performance, powersave",
                "governors": {"performance": "0-15", "powersave": "16-31"},
            }
        ),
        "tiers": (
            Tier(kind="page cache", at="host", size=4 << 30, mode="writeback"),
            Tier(kind="bcache", at="bcache0", size=100 << 30, mode="writeback", medium="nvme0n1", hit_share=0.87),
        ),
        "interfaces": (
            Interface(
                name="ens3f0",
                kind="ethernet",
                driver="mlx5_core",
                firmware="22.31.1014",
                rate=25 * 10**9,
                duplex="full",
                mtu=9000,
                queues=16,
                numa_node=1,
                rdma=("mlx5_0 RoCE",),
                offloads={"tso": True, "lro": False},
                card=True,
            ),
        ),
        "kernel_log": KernelLog(
            count=3,
            whole=True,
            lines=(
                LogLine(seconds=7421.5, text="I/O error, dev sda, sector 7 op 0x0:(READ) flags 0x0", device="sda"),
                LogLine(seconds=7422.5, text="I/O error, dev sda, sector 7 op 0x0:(READ) flags 0x0", device="sda"),
                LogLine(seconds=9000.0, text="EXT4-fs error (device sdz1): ext4_lookup: bad inode"),
            ),
        ),
    }
)
"""A machine with an array, two paths, a worn disk, a cache and a fast card, and something wrong with each."""
