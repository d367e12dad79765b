"""Counters of the machine, read beside a measurement.

Adding a probe: one folder whose ``open_probe(scope)`` gives a `Probe`, and its line in `PROBES`. What is not the
machine's but a node's (its network, its processes) also stands in `OF_NODE`.
"""

from __future__ import annotations

from strata.probes import (
    blockdev,
    cgroup,
    clock,
    cpu,
    cycles,
    filesystem,
    frequency,
    health,
    members,
    memory,
    mounts,
    net,
    numa,
    openmetrics,
    paging,
    pressure,
    qdisc,
    servers,
    smbd,
    softirq,
    target,
    tcp,
)
from strata.probes.node import Node
from strata.probes.port import Opener, Probe, Scope
from strata.probes.sampler import Sampler

__all__ = ["AT_EDGES", "OF_NODE", "PROBES", "REMOTE", "Node", "Opener", "Probe", "Sampler", "Scope"]

PROBES: dict[str, Opener] = {
    "clock": clock.open_probe,
    "cpu": cpu.open_probe,
    "frequency": frequency.open_probe,
    "cycles": cycles.open_probe,
    "blockdev": blockdev.open_probe,
    "members": members.open_probe,
    "health": health.open_probe,
    "filesystem": filesystem.open_probe,
    "mounts": mounts.open_probe,
    "memory": memory.open_probe,
    "paging": paging.open_probe,
    "numa": numa.open_probe,
    "pressure": pressure.open_probe,
    "softirq": softirq.open_probe,
    "net": net.open_probe,
    "qdisc": qdisc.open_probe,
    "tcp": tcp.open_probe,
    "servers": servers.open_probe,
    "cgroup": cgroup.open_probe,
    "smbd": smbd.open_probe,
    "target": target.open_probe,
    "openmetrics": openmetrics.open_probe,
}

OF_NODE = frozenset({"net", "qdisc", "tcp", "servers", "cgroup", "smbd", "target", "openmetrics"})
"""Read for each node; all others once, of the machine."""

AT_EDGES = frozenset({"health", "smbd"})
"""Too dear to be read all the time: at the start and at the end only."""

REMOTE = frozenset({"openmetrics"})
"""Read for nodes that are other machines, and nothing else is read for those."""
