"""What each resource did for one cell: from counters as they are kept, and None where one was not read."""

from __future__ import annotations

import pytest

from strata.model.counters import Readings
from strata.model.resources import Resources

DISK = {
    "blockdev_reads": 300.0, "blockdev_writes": 900.0, "blockdev_read_bytes": 300 * 8192.0,
    "blockdev_write_bytes": 900 * 8192.0, "blockdev_read_seconds": 0.9, "blockdev_write_seconds": 1.8,
    "blockdev_io_seconds": 0.8, "blockdev_weighted_seconds": 2.7, "blockdev_write_merges": 600.0,
    "blockdev_flushes": 100.0, "blockdev_flush_seconds": 0.8,
}  # fmt: skip
OTHERS = {
    "net_bytes{direction=rx,interface=eth1,node=n2}": 1e6,
    "net_bytes{direction=tx,interface=eth1,node=n2}": 20e6,
    "net_bytes{direction=tx,interface=eth0,node=n2}": 0.0,
    "net_bytes{direction=tx,interface=lo}": 90e6,
    "qdisc_backlog_bytes{discipline=tbf,handle=1:,interface=eth1,node=n2}": 5000.0,
    "qdisc_backlog_bytes{discipline=pfifo,handle=2:,interface=eth1,node=n2}": 3000.0,
    "qdisc_drops{discipline=tbf,handle=1:,interface=eth1,node=n2}": 7.0,
    "net_drops{direction=tx,interface=eth1,node=n2}": 1.0,
    "tcp_rtt_seconds{connection=0,end=client,node=n1,peer=n2}": 6e-3,
    "tcp_rtt_seconds{connection=1,end=client,node=n1,peer=n2}": 8e-3,
    "tcp_min_rtt_seconds{connection=0,end=client,node=n1,peer=n2}": 4.1e-3,
    "tcp_min_rtt_seconds{connection=1,end=client,node=n1,peer=n2}": 4.3e-3,
    "tcp_delivery_rate{connection=0,end=client,node=n1,peer=n2}": 3e6,
    "tcp_retransmitted_segments{node=n1}": 3.0,
    "tcp_segments{direction=out,node=n1}": 100.0,
    "server_cpu_seconds{mode=user,process=smbd}": 0.2,
    "server_cpu_seconds{mode=system,process=smbd}": 0.6,
    "server_busiest_thread{process=smbd}": 0.7,
    "cgroup_periods{cgroup=/lab/nbd,node=n2,process=qemu-nbd}": 100.0,
    "cgroup_throttled_periods{cgroup=/lab/nbd,node=n2,process=qemu-nbd}": 80.0,
    "cpu_seconds{cpu=all,mode=user}": 1.0, "cpu_seconds{cpu=all,mode=idle}": 1.0,
    "cpu_seconds{cpu=0,mode=user}": 0.9, "cpu_seconds{cpu=0,mode=idle}": 0.1,
    "cpu_seconds{cpu=1,mode=user}": 0.1, "cpu_seconds{cpu=1,mode=idle}": 0.9,
}  # fmt: skip


def resources(**left_out: str) -> Resources:
    """1000 I/Os and 10 MB a second; without the counters whose names begin so."""
    every = {f"{name}{{device=vda}}": value for name, value in DISK.items()} | OTHERS
    kept = {k: v for k, v in every.items() if not k.startswith(tuple(left_out.values()) or ("none",))}
    return Resources(Readings(kept), iops=1000.0, rate=10e6)


def test_a_disk() -> None:
    (disk,) = resources().disks
    assert (disk.name, disk.busy, disk.in_flight) == ("vda", 0.8, 2.7)
    assert (disk.read_ns, disk.write_ns) == (pytest.approx(3e6), pytest.approx(2e6))
    assert (disk.flushes, disk.flush_ns) == (100, pytest.approx(8e6))
    assert disk.requests_per_io == pytest.approx(1.2)
    assert disk.demand_ns == pytest.approx(0.8e6)
    assert disk.write_bytes_per_byte == pytest.approx(900 * 8192 / 10e6)


def test_a_card_and_what_it_dropped() -> None:
    first, idle = resources().cards
    assert (first.name, idle.name) == ("eth1 of n2", "eth0 of n2")
    assert (first.sent_per_byte, first.received_per_byte) == (pytest.approx(2.0), pytest.approx(0.1))
    assert (first.waiting, first.dropped, first.most) == (5000.0, 8.0, 20e6)
    assert idle.received is None and idle.most == 0
    assert resources().dropped == 8.0


def test_a_path_with_its_least_round_trip() -> None:
    (path,) = resources().paths
    assert (path.node, path.peer, path.end, path.connections) == ("n1", "n2", "client", 2)
    assert (path.rtt_ns, path.least_rtt_ns) == (pytest.approx(7e6), pytest.approx(4.1e6))
    assert path.delivery_rate == 3e6 and path.receiver_limited is None
    resent = resources().resent
    assert resent is not None and (resent.share, resent.where) == (pytest.approx(0.03), "n1")


def test_a_server_its_quota_and_the_processors() -> None:
    (server,), (quota,), (here,) = resources().servers, resources().quotas, resources().processors
    assert (server.name, server.cores, server.busiest_thread) == ("smbd", pytest.approx(0.8), 0.7)
    assert server.demand_ns == pytest.approx(0.8e6) and server.waiting is None
    assert (quota.where, quota.share, quota.own) == ("qemu-nbd on n2", 0.8, False)
    assert (here.busy, here.busiest, here.count) == (pytest.approx(0.5), pytest.approx(0.9), 2)
    assert here.demand_ns == pytest.approx(1e6)


def test_what_was_not_read_is_absent_and_never_nothing() -> None:
    assert resources(a="net_", b="tcp_", c="server_", d="cgroup_", e="cpu_").cards == ()
    none = Resources(Readings({}), iops=0.0, rate=0.0)
    assert (none.disks, none.cards, none.paths, none.servers, none.quotas, none.processors) == ((),) * 6
    assert none.resent is None
    (disk,) = resources(a="blockdev_flush", b="blockdev_io_seconds", c="blockdev_weighted").disks
    assert (disk.flushes, disk.flush_ns, disk.busy, disk.demand_ns, disk.in_flight) == (None,) * 5
    assert resources(a="blockdev_reads").disks == ()
    assert Resources(resources().told, iops=0.0, rate=0.0).disks[0].requests_per_io is None
