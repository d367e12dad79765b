"""Each change as it is made in a lab that runs."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

from scalebench.change import Do
from strata_lab import cgroups, disks, proc, stacks
from strata_lab.inject import mirror_copies
from strata_lab.inject._file import read_once, test_file
from strata_lab.inject._wire import server_node
from strata_lab.lab import Lab

SETTLE_S = 3.0
PERIOD_US = 100_000
"""Of a CPU quota, the kernel's own default. What a process runs beyond its quota before the kernel stops it is some
tenths of a millisecond of each period: a quota of 1 ms in 10 ms gave 1.5 ms. No change asks for less than the kernel
hands a CPU at once (5 ms, `sched_cfs_bandwidth_slice_us`): smbd with 5 ms in 100 did a third of what it did with 10."""


def model(words: str) -> Do:
    """Every modelled disk by these parameters."""

    def do(lab: Lab) -> None:
        for fact in lab.facts("disk"):
            disks.control(lab, fact["name"]).set(words)

    return do


def warmed(do: Do) -> Do:
    """After it the test file is read once: a cache that was changed is filled again."""

    def then(lab: Lab) -> None:
        do(lab)
        read_once(test_file(lab))

    return then


def settled(lab: Lab) -> None:
    """What the change left to be written is written, before anything is measured."""
    fact = lab.last_fact("volume")
    assert fact is not None, "a stack with a volume"
    disks.tool(["sync", "--file-system", fact["path"]], "write back")
    time.sleep(SETTLE_S)


def grow(words: str) -> Do:
    """One storage node more, whose disk is as the others are."""

    def do(lab: Lab) -> None:
        model("c=16 svc=50")(lab)
        stacks.grow(lab)
        settled(lab)
        model(words)(lab)

    return do


def cards(bytes_per_s: float) -> Do:
    """Every card of every node at this rate."""

    def do(lab: Lab) -> None:
        for node in lab.nodes:
            for nic in range(len(node.addresses)):
                lab.shape(node, nic, bytes_per_s)

    return do


def hop(way_us: float) -> Do:
    """So long a way between the server and the bridge, in each direction."""

    def do(lab: Lab) -> None:
        lab.hop(server_node(lab), 0, f"delay={way_us:g}")

    return do


def capped_cpu(processors: float) -> Do:
    """The servers into a control group with so many CPUs."""

    def do(lab: Lab) -> None:
        group = cgroups.limited(lab, "servers", processors)
        cpu(processors)(lab)
        for name in {f["process"] for f in lab.facts("server")}:
            cgroups.join(group, proc.family(lab.process(name).pid))

    return do


def cpu(processors: float) -> Do:
    """Another quota for that group."""

    def do(lab: Lab) -> None:
        group = Path(next(f["path"] for f in lab.facts("cgroup") if f["path"].endswith("-servers")))
        quota_us = round(processors * PERIOD_US)
        if (group / "cpu.max").exists():
            (group / "cpu.max").write_text(f"{quota_us} {PERIOD_US}")
            return
        # Without a quota in between, so that none is more than its period.
        for file, value in (("cpu.cfs_quota_us", -1), ("cpu.cfs_period_us", PERIOD_US), ("cpu.cfs_quota_us", quota_us)):
            (group / file).write_text(str(value))

    return do


def on_cores(many: int) -> Do:
    """Every thread of the servers on the first CPUs alone, so many."""

    def do(lab: Lab) -> None:
        cpus = sorted(os.sched_getaffinity(0))[:many]
        for name in {f["process"] for f in lab.facts("server")}:
            for pid in proc.family(lab.process(name).pid):
                for thread in Path(f"/proc/{pid}/task").iterdir():
                    # A thread that ended meanwhile.
                    with suppress(ProcessLookupError):
                        os.sched_setaffinity(int(thread.name), cpus)

    return do


def copies(many: int) -> Do:
    """Nodes join until there are so many copies, all sent by the owner, over cards like the others'."""

    def do(lab: Lab) -> None:
        rate = lab.last_fact("rate")
        mirror_copies.INJECTION.inject(lab, many)
        settled(lab)
        if rate is not None:
            cards(rate["bytes_per_s"])(lab)

    return do
