"""What the sample report was measured on: its stack, its survey, its plan."""

from __future__ import annotations

import random
from itertools import product

from sample_cells import CONFIRM, FIGURES, GIB, MADE, RAW

from strata.model.plan import Cell, Plan, Step, StepKind
from strata.model.stack import Expect, Layer, Node, Stack
from strata.model.survey import Cpu, Device, FileSystem, Load, Memory, Notice, Severity, Survey


def stack(share: str = "share") -> Stack:
    return Stack(
        name="build-volume",
        nodes=(Node(name="node-2", owner=True), Node(name="node-1")),
        layers=(
            Layer(name="disk", node="node-2", endpoint="block:/dev/disk/by-id/ata-Lab_SSD_1T"),
            Layer(
                name="file system",
                node="node-2",
                endpoint="file:/srv/build/strata-7f3a.dat",
                on=("disk",),
                expect=Expect(overhead_max=0.05, source="default for a local file system"),
            ),
            Layer(
                name=share,
                node="node-1",
                endpoint="nbd://10.0.7.2:10809/build",
                on=("file system",),
                expect=Expect(overhead_max=0.15, source="stack file"),
            ),
        ),
    )


def survey() -> Survey:
    return Survey(
        path="/srv/build",
        hostname="node-2",
        kernel="6.12.9",
        os="Debian GNU/Linux 13",
        taken_unix_ns=MADE,
        file_system=FileSystem(
            kind="ext4",
            source="/dev/mapper/vg0-build",
            mount_point="/srv/build",
            options=("rw", "noatime", "data=ordered"),
            device="dm-3",
            block_size=4096,
            size=800 * GIB,
            free=322 * GIB,
            available=281 * GIB,
        ),
        devices=(
            Device(
                name="dm-3",
                path="/dev/mapper/vg0-build",
                devno="253:3",
                kind="lvm",
                size=800 * GIB,
                detail={"type": "linear"},
            ),
            Device(
                name="sda2", path="/dev/sda2", devno="8:2", kind="partition", size=930 * GIB, partition_start=1 << 20
            ),
            Device(
                name="sda",
                path="/dev/sda",
                devno="8:0",
                kind="disk",
                size=1_000_204_886_016,
                model="Lab SSD 1T",
                firmware="RVT04B6Q",
                transport="sata",
                rotational=False,
                write_cache="write back",
                scheduler="mq-deadline",
                logical_block=512,
                physical_block=4096,
                nr_requests=64,
                queues=1,
            ),
        ),
        cpu=Cpu(
            model="Example 8-core 3.4 GHz",
            logical=16,
            usable=16.0,
            numa_nodes=1,
            mhz=3400,
            governor="powersave",
            turbo=True,
            clocksource="tsc",
        ),
        memory=Memory(total=32 * GIB, available=27 * GIB, cached=9 * GIB, dirty=3 << 20, swap_total=0),
        load=Load(seconds=0.5, load1=0.31, cpu_busy=0.021, cpu_steal=0.0, disk_iops={"sda": 3.0}),
        privileged=True,
        notices=(
            Notice(
                severity=Severity.WARNING,
                code="governor",
                what="the CPUs run under the powersave governor",
                why="short requests wait for a clock that has yet to rise: latency at depth 1 reads too high",
                next_step="cpupower frequency-set -g performance, and measure again",
            ),
            Notice(
                severity=Severity.INFO,
                code="write-cache",
                what="the disk has a volatile write cache",
                why="writes that are not asked to be durable end in it",
            ),
        ),
        unreadable=("/sys/kernel/debug/block",),
    )


def plan_of(st: Stack, rng: random.Random) -> Plan:
    cells = [
        Cell(layer=layer.name, workload=w, skip=RAW if layer.name == "disk" and w.rw.writes else None)
        for layer, w in product(st.layers, FIGURES)
    ]
    steps = []
    for r in range(1, 6):
        keys = [c.key for c in cells if c.skip is None]
        rng.shuffle(keys)
        steps += [Step(order=len(steps) + i, round=r, cell=key) for i, key in enumerate(keys)]
    confirm = Cell(layer=st.layers[-1].name, workload=CONFIRM)
    steps.append(Step(order=len(steps), round=1, cell=confirm.key, kind=StepKind.CONFIRM))
    return Plan(
        id="plan-7f3a",
        stack=st,
        cells=(*cells, confirm),
        steps=tuple(steps),
        rounds=5,
        seed=42,
        ramp_s=0.5,
        runtime_s=2.0,
        interval_s=0.25,
        file_size=4 * GIB,
        seconds=262.5,
        bytes_written=61 * GIB,
        assumed_write_bps=550e6,
    )
