"""What a lab itself counts while a cell runs: the model's exact figures, the kernel's counters of its own things.

Figures (those that a lab does not have are absent, never 0):
``disk.ios``; the means of an I/O ``disk.service_us``, ``disk.wait_us``, ``disk.capped_us`` and ``disk.slowed_us``;
``disk.sequential_share``, ``disk.read_hit_share``, ``disk.absorbed`` and ``disk.full`` (writes), ``disk.flushes`` and
``disk.flush_us`` (mean of a flush), ``disk.member_busy_ratio`` (busiest member to the mean); of a disk of blocks
``disk.straddled_share`` (I/Os that touch one block more than they need) and ``disk.rmw_per_write`` (blocks read before
a write that covers them in part); of several disks these are
the last one's, and ``disks.busiest_ratio`` is the I/Os of the busiest to the mean; ``device.ios`` (requests at the loop
device); ``wire.NODE.NIC.rx_bytes`` and ``….tx_bytes``, ``wire.held`` (frames that shapers held); ``hop.frames``,
``hop.lost``; ``tcp.NODE.retransmits``; ``throttled_ms`` (all control groups of the lab); ``server.cpu_ms`` (all
servers). The client adds ``disk.ios_per_io`` and ``wire.bytes_per_byte``.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from pyroute2 import IPRoute

from strata.errors import StrataError
from strata_lab.inside import on_a_thread_in, within
from strata_lab.lab import Lab
from strata_lab.nodes import FABRICS, LabNode
from strata_lab.parts.disk import DiskControl, DiskTruth
from strata_lab.parts.hop import HopControl

Figures = dict[str, float]
_TICK_MS = 1000 / os.sysconf("SC_CLK_TCK")


class CounterDelta:
    """Counts from when it is made; `stop` gives the figures of the time between."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self._disks = [DiskControl(f["path"]) for f in lab.facts("disk") if not f.get("aside")]
        self._disk = _disks(self._disks)
        self._sums = _sums(lab)

    def ios(self) -> int | None:
        """I/Os at the disks since then: cheap enough to be asked again and again. None in a lab without such disks."""
        if not self._disks:
            return None
        return sum(_ios(now) - _ios(then) for now, then in zip(_disks(self._disks), self._disk, strict=True))

    def stop(self) -> Figures:
        """Everything since then."""
        after = _sums(self.lab)
        found = {key: value - self._sums[key] for key, value in after.items() if key in self._sums}
        ios: list[float] = []
        for before, now in zip(self._disk, _disks(self._disks), strict=True):
            found |= (figures := _disk_figures(before, now))
            ios.append(figures["disk.ios"])
        if len(ios) > 1 and (total := sum(ios, 0.0)):
            found["disks.busiest_ratio"] = max(ios) * len(ios) / total
        return found


def _disks(controls: list[DiskControl]) -> list[DiskTruth]:
    return [control.truth() for control in controls]


def _ios(truth: DiskTruth) -> int:
    return truth.read.n + truth.write.n


def _disk_figures(before: DiskTruth, now: DiskTruth) -> Figures:
    n = _ios(now) - _ios(before)
    found: Figures = {
        "disk.ios": n,
        "disk.absorbed": now.write_cache.absorbed - before.write_cache.absorbed,
        "disk.full": now.write_cache.full - before.write_cache.full,
        "disk.flushes": now.flush.n - before.flush.n,
    }
    if found["disk.flushes"]:
        found["disk.flush_us"] = (now.flush.ns - before.flush.ns) / found["disk.flushes"] / 1e3
    if n:
        in_order = now.read.sequential + now.write.sequential - before.read.sequential - before.write.sequential
        found["disk.sequential_share"] = in_order / n
        served = now.read.svc_ns + now.write.svc_ns - before.read.svc_ns - before.write.svc_ns
        waited = now.read.wait_ns + now.write.wait_ns - before.read.wait_ns - before.write.wait_ns
        found["disk.service_us"], found["disk.wait_us"] = served / n / 1e3, waited / n / 1e3
        found["disk.capped_us"] = (now.capped.ns - before.capped.ns) / n / 1e3
        found["disk.slowed_us"] = (now.slowed.ns - before.slowed.ns) / n / 1e3
    if reads := now.read.n - before.read.n:
        found["disk.read_hit_share"] = (now.read_cache.hits - before.read_cache.hits) / reads
    if now.block.read + now.block.written:
        if n:
            found["disk.straddled_share"] = (now.block.straddled - before.block.straddled) / n
        if writes := now.write.n - before.write.n:
            found["disk.rmw_per_write"] = (now.block.rmw.n - before.block.rmw.n) / writes
    busy: list[int] = [a.busy_ns - b.busy_ns for a, b in zip(now.members, before.members, strict=True)]
    total = sum(busy)
    if len(busy) > 1 and total > 0:
        found["disk.member_busy_ratio"] = max(busy) * len(busy) / total
    return found


def _sums(lab: Lab) -> Figures:
    """Counters that only grow; two readings are subtracted."""
    found: Figures = {}
    held = 0.0
    if volume := lab.last_fact("volume"):
        stat = Path(f"/sys/block/{Path(volume['device'] or 'none').name}/stat")
        if stat.is_file():
            fields = stat.read_text().split()
            found["device.ios"] = int(fields[0]) + int(fields[4])
    for node in lab.nodes:
        if node.netns is not None:
            seen = _node(node)
            held += seen.pop("wire.held")
            found |= seen
    if lab.nodes and not lab.reduced:
        found["wire.held"] = held
    if hops := lab.facts("hop"):
        found["hop.lost"] = found["hop.frames"] = 0.0
        for hop in hops:
            try:
                truth = HopControl(hop["ctl"]).truth()
            except StrataError:
                continue
            found["hop.lost"] += truth.ab.lost + truth.ba.lost
            found["hop.frames"] += truth.ab.sent + truth.ba.sent
    for group in lab.facts("cgroup"):
        found["throttled_ms"] = found.get("throttled_ms", 0.0) + _throttled_ms(Path(group["path"]))
    servers = {f["process"] for f in lab.facts("server")}
    used = [ms for child in lab.processes if child.name in servers and (ms := _cpu_ms(child.pid)) is not None]
    if used:
        found["server.cpu_ms"] = sum(used)
    return found


def _node(node: LabNode) -> Figures:
    def links(ns: IPRoute) -> Figures:
        found = {}
        for nic in range(len(FABRICS[: len(node.addresses)])):
            for index in ns.link_lookup(ifname=f"eth{nic}"):
                stats = ns.get_links(index)[0].get_attr("IFLA_STATS64")
                found[f"wire.{node.name}.{nic}.rx_bytes"] = float(stats["rx_bytes"])
                found[f"wire.{node.name}.{nic}.tx_bytes"] = float(stats["tx_bytes"])
                held = sum(_overlimits(q) for q in ns.get_qdiscs(index=index))
                found["wire.held"] = found.get("wire.held", 0.0) + held
        return found

    assert node.netns is not None
    found = within(node.netns, links)
    found["wire.held"] = found.get("wire.held", 0.0)
    # Of the thread, which is inside; /proc/self would be the process, which is not.
    snmp = on_a_thread_in(node.netns, lambda: Path("/proc/thread-self/net/snmp").read_text())
    names, values = (line.split() for line in snmp.splitlines() if line.startswith("Tcp:"))
    found[f"tcp.{node.name}.retransmits"] = float(values[names.index("RetransSegs")])
    return found


def _overlimits(qdisc: Any) -> float:
    """How often a shaper had to hold a frame."""
    if qdisc.get_attr("TCA_KIND") != "tbf":
        return 0.0
    stats = qdisc.get_attr("TCA_STATS2").get_attr("TCA_STATS_QUEUE")
    return float(stats["overlimits"])


def _throttled_ms(group: Path) -> float:
    """v1 counts nanoseconds (``throttled_time``), v2 microseconds (``throttled_usec``)."""
    rows = dict(line.split() for line in (group / "cpu.stat").read_text().splitlines())
    return int(rows["throttled_time"]) / 1e6 if "throttled_time" in rows else int(rows["throttled_usec"]) / 1e3


def _cpu_ms(pid: int) -> float | None:
    """User and system time of the process and of its children that ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return sum(int(x) for x in fields[11:15]) * _TICK_MS
