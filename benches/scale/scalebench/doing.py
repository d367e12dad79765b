"""Each change as it is made in a lab that runs."""

from __future__ import annotations

import time
from pathlib import Path

from scalebench.change import Do
from strata_lab import cgroups, disks, proc, stacks
from strata_lab.inject import mirror_copies
from strata_lab.inject._qos import capped
from strata_lab.inject._wire import server_node
from strata_lab.lab import Lab

SETTLE_S = 3.0


def both(first: Do, second: Do) -> Do:
    """One after the other."""

    def do(lab: Lab) -> None:
        first(lab)
        second(lab)

    return do


def model(words: str) -> Do:
    """Every modelled disk by these parameters."""

    def do(lab: Lab) -> None:
        for fact in lab.facts("disk"):
            disks.control(lab, fact["name"]).set(words)

    return do


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
        for name in {f["process"] for f in lab.facts("server")}:
            cgroups.join(group, proc.family(lab.process(name).pid))

    return do


def cpu(processors: float) -> Do:
    """Another quota for that group; its period stays."""

    def do(lab: Lab) -> None:
        group = Path(next(f["path"] for f in lab.facts("cgroup") if f["path"].endswith("-servers")))
        if (group / "cpu.max").exists():
            period = (group / "cpu.max").read_text().split()[1]
            (group / "cpu.max").write_text(f"{int(processors * int(period))} {period}")
            return
        period_us = int((group / "cpu.cfs_period_us").read_text())
        (group / "cpu.cfs_quota_us").write_text(str(max(1000, int(processors * period_us))))

    return do


def cap(iops: float) -> Do:
    """The first virtual disk's cap."""

    def do(lab: Lab) -> None:
        capped("iops-total")(lab, iops)

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
