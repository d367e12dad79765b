"""The catalogue of counters, and the question every rule, report and display asks of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strata.model.counters import Readings, blockdev, cpu, memory, net, qdisc, servers, tcp
from strata.model.counters.catalogue import catalogue
from strata.model.counters.counter import LABELS, NODE, Over
from strata.model.counters.readings import stored_name, taken_apart

CARDS = {
    "net_bytes{direction=tx,interface=eth0}": 10.0,
    "net_bytes{direction=rx,interface=eth0}": 4.0,
    "net_bytes{direction=tx,interface=eth0,node=n1}": 7.0,
    "net_bytes{direction=rx,interface=eth1,node=n1}": 5.0,
    "net_bytes_of_tomorrow{direction=tx,interface=eth0}": 99.0,
    "net_bytes{interface=eth0}": 77.0,
    "net_bytes{colour=red,direction=tx,interface=eth0}": 55.0,
}


@given(st.dictionaries(st.from_regex(r"[a-z_]+", fullmatch=True), st.text(max_size=30), max_size=4))
def test_any_label_survives_its_name(labels: dict[str, str]) -> None:
    assert taken_apart(stored_name("metric_bytes", labels)) == ("metric_bytes", labels)


def test_every_counter_is_declared_once_and_whole() -> None:
    for name, counter in catalogue().items():
        assert name == counter.name
        assert counter.words and counter.unit
        assert len(set(counter.labels)) == len(counter.labels), name
        assert NODE not in counter.labels, name
        assert counter.nested is None or counter.nested in LABELS[counter.scope], name
        assert counter.whole is None or counter.whole[0] in counter.labels, name


def test_things_are_told_by_their_labels_and_this_machine_has_no_name() -> None:
    told = Readings(CARDS)
    assert [(r.node, r["interface"], r.value) for r in told.of(net.BYTES, direction="tx")] == [
        (None, "eth0", 10.0),
        ("n1", "eth0", 7.0),
    ]
    assert [r.value for r in told.of(net.BYTES, node=None)] == [10.0, 4.0]
    assert told.total(net.BYTES) == 26.0
    assert told.each(net.BYTES, "node") == {(None,): 14.0, ("n1",): 12.0}
    largest = told.largest(net.BYTES, node="n1")
    assert largest is not None and largest.key("node", "interface") == ("n1", "eth0")


def test_what_was_not_read_is_absent_from_every_answer() -> None:
    told = Readings({})
    assert told.of(net.BYTES) == ()
    assert told.total(net.BYTES) is None
    assert told.largest(net.BYTES) is None
    assert told.each(net.BYTES, "node") == {}


def test_a_sum_that_stands_beside_its_parts_is_not_counted_with_them() -> None:
    parts = {"cpu_seconds{cpu=0,mode=user}": 0.5, "cpu_seconds{cpu=1,mode=user}": 0.25}
    told = Readings(parts | {"cpu_seconds{cpu=all,mode=user}": 0.75, "cpu_seconds{cpu=0,mode=user,node=n1}": 0.125})
    assert told.each(cpu.SECONDS, "node", "mode") == {(None, "user"): 0.75, ("n1", "user"): 0.125}
    assert told.each(cpu.SECONDS, "cpu", node=None) == {("0",): 0.5, ("1",): 0.25}
    assert Readings(parts).total(cpu.SECONDS, mode="user") == 0.75
    assert len(told.of(cpu.SECONDS, node=None)) == 2
    assert [r.value for r in told.of(cpu.SECONDS, cpu="all")] == [0.75]


def test_disciplines_inside_each_other_count_the_same_packets_once() -> None:
    told = Readings(
        {
            "qdisc_drops{discipline=tbf,handle=1,interface=eth0,node=n1}": 8.0,
            "qdisc_drops{discipline=netem,handle=2,interface=eth0,node=n1}": 6.0,
            "qdisc_drops{discipline=fq,handle=1,interface=eth1,node=n1}": 1.0,
        }
    )
    assert told.total(qdisc.DROPS) == 9.0
    assert told.each(qdisc.DROPS, "interface") == {("eth0",): 8.0, ("eth1",): 1.0}


def test_a_gauge_of_connections_is_their_mean() -> None:
    told = Readings(
        {
            "tcp_rtt_seconds{connection=0,end=client,peer=a}": 0.001,
            "tcp_rtt_seconds{connection=1,end=client,peer=a}": 0.003,
        }
    )
    assert told.total(tcp.RTT, end="client") == pytest.approx(0.002)
    assert told.total(tcp.RTT, end="server") is None


def test_different_things_are_never_added() -> None:
    told = Readings({"memory_bytes{kind=dirty}": 1.0, "memory_bytes{kind=total}": 9.0})
    with pytest.raises(ValueError, match="kind"):
        told.total(memory.BYTES)
    assert told.total(memory.BYTES, kind="dirty") == 1.0
    with pytest.raises(ValueError, match="several things"):
        Readings({}).total(blockdev.READS)


def test_one_value_is_asked_for_by_all_its_labels() -> None:
    told = Readings(CARDS)
    assert told.value(net.BYTES, interface="eth0", direction="tx", node="n1") == 7.0
    assert told.value(net.BYTES, interface="eth9", direction="tx", node="n1") is None
    with pytest.raises(ValueError, match="node"):
        told.value(net.BYTES, interface="eth0", direction="tx")


def test_a_label_that_a_counter_does_not_have_is_the_programmers_mistake() -> None:
    with pytest.raises(ValueError, match="device"):
        Readings({}).of(servers.CPU_SECONDS, device="sda")


def test_how_things_are_added_is_said_of_every_counter() -> None:
    for counter in catalogue().values():
        where = dict.fromkeys((*counter.aspects, *LABELS[counter.scope]), "x")
        if counter.over is not Over.NONE:
            assert Readings({}).total(counter, **where) is None
