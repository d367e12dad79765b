"""Both ends of the path: times, bytes and cycles, compared with figures that are known."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strata.analyse.counters import wire_bytes
from strata.analyse.cycles import COUNTED, RoundWork, cycle_costs
from strata.analyse.flows import RoundBytes, flows, notes
from strata.analyse.laws.counters import events, steps
from strata.analyse.split import Ends, split
from strata.analyse.summary import cell_summary
from strata.model import histogram
from strata.model.counters import Readings
from strata.model.resources import processors_of
from strata.model.result import ServerTimes
from strata.model.series import Series, SeriesKind

from .material import SECOND, START, cell_result, counter, engine_result, workload

# Talpey and Lovinger, "SMB3 Application Workload Performance", result 1: µs.
SINGLE = {1: (204, 176, 29), 8: (197, 159, 38), 64: (419, 366, 52), 512: (1297, 1112, 185)}


@pytest.mark.parametrize("kib", SINGLE)
def test_the_sources_single_io_latency_splits_as_they_split_it(kib: int) -> None:
    client, server, wire = SINGLE[kib]
    found = split("read", "server", [Ends(client * 1e3, server * 1e3)])
    assert found is not None
    assert found.wire_ns.value / 1e3 == pytest.approx(wire, abs=1.1)
    assert found.wire_ns.low is None, "one round has no interval"


TIMES = st.lists(st.tuples(st.floats(1e3, 1e9), st.floats(0, 1)), min_size=2, max_size=8)


@given(TIMES)
def test_wire_and_server_make_the_client_round_by_round(rounds: list[tuple[float, float]]) -> None:
    ends = [Ends(client, client * share) for client, share in rounds]
    found = split("read", "target", ends)
    assert found is not None
    assert found.wire_ns.low is not None
    assert found.wire_ns.high is not None
    worst = max(e.client_ns - e.server_ns for e in ends)
    assert -1 <= found.wire_ns.value <= worst * 1.0001 + 1


def test_percentiles_stand_side_by_side_and_notes_say_what_is_wrong() -> None:
    ends = [Ends(500.0 + i, 200.0, 1000, 1000, {"50": 450, "99": 900}, {"50": 190, "99": 800}) for i in range(3)]
    found = split("read", "target", ends)
    assert found is not None
    assert [p.percentile for p in found.percentiles] == ["50", "99"]
    assert found.percentiles[1].difference_ns.value == pytest.approx(100)
    upside_down = split("read", "smbd", [Ends(100.0, 150.0 + i) for i in range(3)])
    assert upside_down is not None
    assert any("longer than the client waited" in n for n in upside_down.notes)
    fewer = split("read", "target", [Ends(5.0, 1.0, 1000, 400)])
    assert fewer is not None
    assert any("40 %" in n.replace("\u202f", " ") for n in fewer.notes)
    more = split("read", "target", [Ends(5.0, 1.0, 1000, 2000)])
    assert more is not None
    assert any("2.00 requests" in n for n in more.notes)
    assert split("read", "target", []) is None


def moved(read: float, write: float, counters: dict[str, float]) -> RoundBytes:
    return RoundBytes(read, write, Readings(counters))


def worked(
    bytes_per_second: float,
    iops: float,
    counters: dict[str, float],
    user: float | None = None,
    system: float | None = None,
) -> RoundWork:
    return RoundWork(bytes_per_second, iops, Readings(counters), user, system)


def device(name: str, read: float, write: float) -> dict[str, float]:
    return {f"blockdev_read_bytes{{device={name}}}": read, f"blockdev_write_bytes{{device={name}}}": write}


def wire(node: str, tx: float, rx: float) -> dict[str, float]:
    return {
        f"net_bytes{{direction=tx,interface=eth0,node={node}}}": tx,
        f"net_bytes{{direction=rx,interface=eth0,node={node}}}": rx,
    }


def test_the_owner_and_the_non_owner_of_a_mirror_have_their_ratios() -> None:
    """Writes of r = 2 copies: a client that holds one sends 1, one that holds none sends 2."""
    owner = flows([moved(0, 100, wire("n1", 101 + i, 1) | wire("n2", 1, 101 + i)) for i in range(3)])
    assert {(f.node, f.direction): round(f.per_byte.value) for f in owner if f.per_byte.value > 0.5} == {
        ("n1", "tx"): 1,
        ("n2", "rx"): 1,
    }
    assert notes(owner, direct=True) == ()
    apart = {**wire("n3", 208, 2), **wire("n1", 1, 104), **wire("n2", 1, 104)}
    other = flows([moved(0, 100, apart)] * 3)
    assert next(f for f in other if f.node == "n3" and f.direction == "tx").per_byte.value == pytest.approx(2.08)
    assert notes(other, direct=True) == ()
    lost = flows([moved(0, 100, wire("n1", 200, 0) | wire("n2", 0, 100))] * 3)
    assert any("lost on the way" in n for n in notes(lost, direct=True))


@pytest.mark.parametrize(
    ("read", "write", "counters", "word"),
    [
        (100.0, 0.0, device("sda", 40, 0), "the rest came from a cache"),
        (0.0, 100.0, device("sda", 0, 30), "the rest is in a cache above it"),
        (0.0, 100.0, device("sda", 0, 210), "journal, copies"),
        (0.0, 100.0, device("sda", 90, 110), "parts of blocks are read"),
        (100.0, 0.0, device("sda", 100, 0), None),
        (0.0, 100.0, device("sda", 0, 101), None),
    ],
)
def test_where_bytes_do_not_add_up_it_is_said(
    read: float, write: float, counters: dict[str, float], word: str | None
) -> None:
    said = notes(flows([moved(read, write, counters)] * 3), ["sda"], direct=True)
    assert (said == ()) if word is None else any(word in n for n in said)


def test_a_ratio_is_not_claimed_from_rounds_that_do_not_have_it() -> None:
    assert flows([moved(100, 0, device("sda", 100, 0)), moved(100, 0, {})]) == ()
    assert flows([moved(0, 0, device("sda", 100, 0))]) == ()


def test_a_member_that_carries_all_is_named() -> None:
    counters = {f"member_read_bytes{{device=md0,member={m}}}": v for m, v in (("sda", 95.0), ("sdb", 5.0))}
    said = notes(flows([moved(100, 0, counters)] * 3), direct=True)
    assert len(said) == 1
    assert said[0].startswith("sda carries 95")


CPU = {
    f"cpu_seconds{{cpu=0,mode={m}}}": v for m, v in (("user", 0.2), ("system", 0.3), ("softirq", 0.1), ("idle", 0.4))
}
PLATE = {"cpu_frequency_hz{cpu=0,source=cpuinfo}": 2e9}


def test_cycles_from_time_and_clock_with_the_clock_stated() -> None:
    server = {f"server_cpu_seconds{{mode={m},node=n2,process=smbd}}": v for m, v in (("user", 0.01), ("system", 0.05))}
    (machine, own, smbd) = cycle_costs([worked(1e6, 100, CPU | PLATE | server, user=0.05, system=0.1)] * 2)
    assert machine.kernel_per_byte.value == pytest.approx(0.4 * 2e9 / 1e6)
    assert machine.kernel_per_io.value == pytest.approx(0.4 * 2e9 / 100)
    assert machine.user_per_byte is not None
    assert machine.user_per_byte.value == pytest.approx(400)
    assert machine.clock_hz == 2e9
    assert "nominal" in machine.source
    assert (own.end, own.kernel_per_io.value) == ("generator", pytest.approx(2e6))
    assert (smbd.end, smbd.node) == ("server smbd", "n2")
    assert smbd.kernel_per_byte.value == pytest.approx(100)


def test_cycles_that_were_counted_are_used_and_without_a_clock_nothing_is_said() -> None:
    counted = {"cpu_cycles{cpu=0,mode=kernel}": 5e8, "cpu_cycles{cpu=0,mode=user}": 1e8}
    (machine,) = cycle_costs([worked(1e6, 100, CPU | counted)])
    assert machine.source == COUNTED
    assert machine.kernel_per_byte.value == 500
    assert machine.clock_hz is None
    assert cycle_costs([worked(1e6, 100, CPU)]) == ()
    assert cycle_costs([worked(0, 0, CPU | PLATE)]) == ()
    away = {k.replace("}", ",node=far}"): v for k, v in (CPU | PLATE).items()}
    assert [(c.end, c.node) for c in cycle_costs([worked(1e6, 100, away)])] == [("machine", "far")]


def test_another_machines_processors_and_wires_are_not_this_ones() -> None:
    away = {k.replace("}", ",node=far}"): v for k, v in CPU.items()}
    assert processors_of(Readings(away)) is None
    busy = processors_of(Readings(CPU | away))
    assert busy is not None
    assert busy.busy == pytest.approx(0.6)
    assert wire_bytes(Readings(wire("n1", 100, 5) | wire("n2", 5, 100))) == 105


def clock(values: list[float], name: str = "realtime") -> Series:
    return Series(
        metric="clock_offset_seconds",
        unit="s",
        kind=SeriesKind.GAUGE,
        labels={"clock": name},
        t_ns=tuple(START + i * SECOND for i in range(len(values))),
        values=tuple(values),
    )


def test_a_clock_that_was_set_is_told_and_one_that_is_slewed_is_not() -> None:
    assert steps(clock([0.0, 0.0004, 0.0008, 0.0001])) == []
    assert steps(clock([0.0, 0.0, 3.0, 3.0, 1.0])) == [3.0, -2.0]
    w = workload()
    cell = cell_result("disk", w, 2, engine_result(w, 1000), [clock([0.0, -3.0]), clock([0.0, 7.0], "boottime")])
    told = [t.replace("\u202f", " ") for t in events([cell])]
    assert told == ["the wall clock was set back by 3.00 s in round 3", "the machine slept for 7.00 s in round 3"]


def test_a_counter_that_began_anew_is_told_and_says_nothing_else() -> None:
    w = workload()
    fell = counter("blockdev_reads", 100.0, device="sda").model_copy(update={"values": (5.0, 9.0, 1.0, 2.0, 3.0)})
    cell = cell_result("disk", w, 1, engine_result(w, 1000), [fell])
    assert list(events([cell])) == ["blockdev_reads were reset in round 2: their increments are not known"]
    summary = cell_summary("disk", w, [cell])
    assert summary is not None
    assert not any("blockdev" in name for name in summary.counters)


def test_a_cell_with_a_server_that_told_its_times_is_split() -> None:
    w = workload()
    mine = histogram.from_bins({500_000: 20_000, 900_000: 400})
    theirs = histogram.from_bins({200_000: 20_000, 300_000: 400})
    counters = [
        counter("target_requests", 10_000.0, direction="read"),
        counter("target_seconds", 2.0, direction="read"),
        counter("blockdev_read_bytes", 10_000.0 * w.bs / 2, device="sda"),
    ]
    rounds = [
        cell_result(
            "share",
            w,
            number,
            engine_result(w, 10_000, mean_ns=500_000 + number, payload=mine),
            counters,
            server=ServerTimes(source="target", read=theirs),
            absent=("cycles: none", "numa: round 1") if number else ("cycles: none",),
        )
        for number in range(3)
    ]
    summary = cell_summary("share", w, rounds, chain=["sda"])
    assert summary is not None
    (found,) = summary.splits
    assert (found.direction, found.server) == ("read", "target")
    assert found.server_ns.value == pytest.approx(200_000)
    assert found.wire_ns.value == pytest.approx(300_001, abs=2)
    assert found.percentiles[0].percentile == "50"
    assert found.percentiles[0].server_ns.value == pytest.approx(200_000, rel=0.002)
    assert [(f.place, f.direction) for f in summary.flows] == [("device sda", "read")]
    assert summary.flows[0].per_byte.value == pytest.approx(0.5)
    assert any("from a cache above it" in n for n in summary.notes)
    assert summary.absent == ("cycles: none",)
