"""What a display is told of this moment: rates of counters, last values of gauges, and nothing that is not known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from strata.model.counters.catalogue import catalogue
from strata.model.progress import DeviceNow, Glance
from strata.probes.glance import glance
from strata.probes.port import Column
from strata.probes.recording import Watched

SECOND = 10**9


class Fixed:
    """A probe with one column; its values stand in the rows."""

    absent: tuple[str, ...] = ()

    def __init__(self, metric: str, labels: Mapping[str, str]) -> None:
        self.columns = (Column(catalogue()[metric], labels),)

    def read(self) -> Sequence[float | None]:
        return ()

    def close(self) -> None: ...


def seen(metric: str, before: float | None, now: float | None, node: str | None = None, **labels: str) -> Watched:
    """Two samples half a second apart."""
    return Watched(Fixed(metric, labels), node, [(7 * SECOND, (before,)), (7 * SECOND + SECOND // 2, (now,))])


def test_a_device_has_its_depth_and_by_littles_law_its_time() -> None:
    found = glance(
        [
            seen("blockdev_reads", 100, 600, device="sda"),
            seen("blockdev_writes", 0, 0, device="sda"),
            seen("blockdev_read_bytes", 0, 4096, device="sda"),
            seen("blockdev_write_bytes", 0, 0, device="sda"),
            seen("blockdev_weighted_seconds", 1.0, 3.0, device="sda"),
        ]
    )
    assert found.devices == (DeviceNow(name="sda", iops=1000, bytes_per_second=8192, depth=4, request_s=0.004),)


def test_a_nodes_line_has_its_own_counters_alone() -> None:
    found = glance(
        [
            seen("cpu_seconds", 0, 1, cpu="all", mode="idle"),
            seen("cpu_seconds", 0, 3, cpu="all", mode="user"),
            seen("cpu_seconds", 0, 1, cpu="0", mode="user"),
            seen("net_bytes", 0, 1000, "n1", interface="eth0", direction="tx"),
            seen("net_bytes", 0, 10, "n1", interface="eth0", direction="rx"),
            seen("net_bytes", 0, 10**9, "n1", interface="lo", direction="tx"),
            seen("tcp_retransmitted_segments", 5, 8, "n1"),
            seen("server_cpu_seconds", 1.0, 1.1, "n1", process="smbd", mode="user"),
            seen("server_cpu_seconds", 1.0, 1.2, "n1", process="smbd", mode="system"),
            seen("qdisc_backlog_bytes", 0, 1500, "n1", interface="eth0", discipline="tbf", handle="1"),
            # Inside it: the same bytes.
            seen("qdisc_backlog_bytes", 0, 1400, "n1", interface="eth0", discipline="fq", handle="2"),
            seen("cgroup_throttled_seconds", 1, 2, "n2", cgroup="/a"),
        ],
        [None, "n1", "n2"],
        own=0.5,
    )
    here, n1, n2 = found.nodes
    assert (found.busy, found.own, here.name, here.resent) == (0.75, 0.5, None, None)
    assert (n1.tx_bytes_per_second, n1.rx_bytes_per_second, n1.resent, n1.waiting_bytes) == (2000, 20, 6, 1500)
    assert n1.servers == (("smbd", pytest.approx(0.6)),)
    assert (n2.held_back, n2.tx_bytes_per_second) == (2, None)


def test_where_only_the_loopback_moved_it_is_the_wire() -> None:
    both = [seen("net_bytes", 0, 500, interface="lo", direction=d) for d in ("tx", "rx")]
    quiet = seen("net_bytes", 7, 7, interface="eth0", direction="tx")
    assert glance([*both, quiet]).nodes[0].tx_bytes_per_second == 1000


@pytest.mark.parametrize(("before", "now"), [(None, 5), (5, None), (5, 3)])
def test_what_was_not_read_or_was_reset_is_not_known(before: float | None, now: float | None) -> None:
    assert glance([seen("tcp_retransmitted_segments", before, now)]) == Glance()


def test_a_rate_is_of_a_time_in_which_a_counter_can_move() -> None:
    """A clock tick in two milliseconds would be five processors."""
    ms = SECOND // 1000

    def after(*at_ms: int) -> float | None:
        watched = Watched(Fixed("server_cpu_seconds", {"process": "smbd", "mode": "user"}), "n1")
        watched.rows = [(t * ms, (0.01 * n,)) for n, t in enumerate(at_ms)]
        told = glance([watched], ["n1"]).nodes
        return told[0].servers[0][1] if told and told[0].servers else None

    assert after(0, 2) is None and after(0, 79) is None and after(0) is None and after() is None
    assert after(0, 80) == pytest.approx(0.125)
    assert after(0, 100, 198, 200) == pytest.approx(0.02 / 0.1), "not against the sample just before"
    assert after(*range(0, 200, 10)) == pytest.approx(1.0)
