"""What is asked by name: of the stack, of cards, of the cache, of the wire."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from strata.analyse.scaling.asked import around, what_if
from strata.analyse.scaling.beneath import UnderWay
from strata.analyse.scaling.counted import Around
from strata.analyse.scaling.fitted import Fitted, LoadPoint, NoCurve, fitted
from strata.analyse.scaling.network import Network, QueueStation
from strata.model.axis import Axis
from strata.model.estimate import Estimate
from strata.model.scale import Busy, ScaleAsk, ScalePoint, WhatIf
from strata.model.stack import Stack

LOADS = (1, 2, 4, 8, 16, 32, 64)


def one(value: float, unit: str, spread: float = 0.01) -> Estimate:
    return Estimate(value=value, low=value * (1 - spread), high=value * (1 + spread), n=3, unit=unit)


def ask(axis: Axis = Axis.IODEPTH) -> ScaleAsk:
    return ScaleAsk(axis=axis, values=LOADS, budget_s=1.0, target=0.02)


def points(
    alone: float, limit: float, busy: tuple[str, float] | None = None, rtt: float | None = None
) -> list[ScalePoint]:
    """``busy``: (a card, bytes that it sends for each byte), full at the limit."""
    found = []
    for n in LOADS:
        x = min(alone * n, limit)
        used: tuple[Busy, ...] = ()
        if busy is not None:
            demand = one(1e9 / limit, "ns")
            card = Busy(name=busy[0], of=busy[0], share=x / limit, servers=1.0, demand_ns=demand, per_byte=busy[1])
            used = (card,)
        found.append(
            ScalePoint(layer="top", value=n, outstanding=n, iops=one(x, "IOPS"), busy=used, rtt_ns=rtt)
        )  # fmt: skip
    return found


def curve(alone: float, limit: float) -> Fitted:
    found = fitted([LoadPoint(n, min(n * alone, limit), 0.005) for n in LOADS], draws=40)
    assert isinstance(found, Fitted)
    return found


def asked(words: str, some: list[ScalePoint], found: Fitted, beside: Around = Around()) -> WhatIf:  # noqa: B008
    return what_if(words, "top", some, ask(), found, 1.0, beside)


def gain(told: WhatIf) -> float:
    assert told.gain is not None, told.refused
    assert told.gain.low is not None and told.gain.high is not None
    assert told.gain.low <= told.gain.value <= told.gain.high
    return told.gain.value


def test_cards_are_a_resource_and_what_is_below_bounds_them() -> None:
    some, found = points(250, 2000, ("card@eth0-of-n1", 0.05)), curve(250, 2000)
    assert gain(asked("cards=2x", some, found)) == pytest.approx(2.0, rel=0.02)
    assert gain(asked("card@eth0-of-n1=2x", some, found)) == pytest.approx(2.0, rel=0.02)
    assert gain(asked("cards=4x", some, found, Around(below=curve(260, 3000)))) == pytest.approx(1.5, rel=0.03)


def test_one_more_copy_is_sent_once_more() -> None:
    some, found = points(250, 2000, ("card@eth0-of-n1", 1.0)), curve(250, 2000)
    assert gain(asked("copies=3", some, found, Around({"copies": 2}))) == pytest.approx(0.5, rel=0.03)
    twice = points(250, 2000, ("card@eth0-of-n1", 2.0))
    assert gain(asked("copies=3", twice, found, Around({"copies": 2}))) == pytest.approx(2 / 3, rel=0.03)
    assert "was not full" in asked("copies=3", points(250, 2000), found, Around({"copies": 2})).refused


def test_more_connections_are_as_fast_as_the_layer_below_lets_them_be() -> None:
    some, found = points(400, 800), curve(400, 800)
    beside = Around({"connections": 1, "disks": 1}, curve(500, 4000))
    assert gain(asked("connections=2", some, found, beside)) == pytest.approx(2.0, rel=0.03)
    assert gain(asked("disks=4", some, found, beside)) == pytest.approx(4.0, rel=0.05)
    assert gain(asked("connections=64", some, found, beside)) < 5.1
    assert "was not measured" in asked("disks=2", some, found, Around()).refused


def test_storage_nodes_have_equal_parts_of_the_load() -> None:
    some, found = points(250, 2000), curve(250, 2000)
    even = Around({"storage-nodes": 2}, random=False)
    assert gain(asked("storage-nodes=4", some, found, even)) == pytest.approx(2.0, rel=0.02)
    assert gain(asked("storage-nodes=4@4", some, found, even)) == pytest.approx(1.0, rel=0.02)
    assert "expect.members" in asked("storage-nodes=4", some, found).refused


def test_random_ios_find_one_storage_node_busy_and_another_idle() -> None:
    """One node of eight servers, then two: with 16 I/Os on both some wait although there are 16 servers."""
    some, found = points(250, 2000), curve(250, 2000)
    told = gain(asked("storage-nodes=2@16", some, found, Around({"storage-nodes": 1})))
    assert told == pytest.approx(network_gain(16), rel=0.03) and 1.5 < told < 1.95
    assert gain(asked("storage-nodes=2@64", some, found, Around({"storage-nodes": 1}))) > 1.9


def network_gain(load: int) -> float:
    """Two stations of eight servers of 4 ms for one, by the network of equal stations."""
    each = tuple(QueueStation(str(i), 0.004 / 2, 8) for i in range(2))
    return Network(each).exact(load) / min(2000.0, load * 250.0)


def test_more_storage_nodes_do_not_pass_the_window_of_the_layer() -> None:
    """16 I/Os at most are below, which does not show while one node is full with 8."""
    some, found = points(250, 2000), curve(250, 2000)
    seen = UnderWay(tuple((n, min(n, 16)) for n in LOADS), tuple((n, n) for n in LOADS))
    beside = Around({"storage-nodes": 1}, curve(250, 2000), seen)
    assert gain(asked("storage-nodes=4@64", some, found, beside)) < 2.0
    free = Around({"storage-nodes": 1}, curve(250, 2000))
    assert gain(asked("storage-nodes=4@64", some, found, free)) > 3.5


def test_a_queue_lets_whole_ios_through_as_the_devices_below_show() -> None:
    some, found = points(400, 800), curve(400, 800)
    seen = UnderWay(tuple((n, min(n, 1.93)) for n in LOADS), tuple((n, n) for n in LOADS))
    told = asked("connections=3", some, found, Around({"connections": 1}, curve(402, 4000), seen))
    assert gain(told) == pytest.approx(3.0, rel=0.03) and "2 of them below" in told.rests_on


def test_what_the_layer_below_would_be_asked_and_was_not_measured_with_is_refused() -> None:
    some, found = points(400, 800), curve(400, 800)
    beside = Around({"connections": 1}, curve(400, 100_000))
    assert "its rate still rose" in asked("connections=100@200", some, found, beside).refused


def test_a_quota_that_costs_another_amount_at_every_load_is_not_predicted() -> None:
    def held(demand_us: Callable[[int], float]) -> list[ScalePoint]:
        """0.1 CPU, always used up."""
        found = []
        for n in LOADS:
            x = 0.1 / (demand_us(n) / 1e6)
            used = Busy(name="quota@smbd", of="q", share=1.0, servers=0.1, demand_ns=one(demand_us(n) * 1e3, "ns"))
            found.append(ScalePoint(layer="top", value=n, outstanding=n, iops=one(x, "IOPS"), busy=(used,)))
        return found

    steady, falling = held(lambda _: 100.0), held(lambda n: 200.0 - 2 * n)
    flat = fitted([LoadPoint(p.outstanding, p.iops.value, 0.005) for p in steady], draws=40)
    assert isinstance(flat, Fitted)
    assert gain(asked("quota=2x", steady, flat)) == pytest.approx(2.0, rel=0.02)
    assert "varies by" in asked("quota=2x", falling, flat).refused


def test_the_way_is_what_the_layer_below_does_not_take_and_may_be_more_trips_than_one() -> None:
    """4 ms below and 8 ms on the way, where a round trip takes 4."""
    some, found = points(1 / 0.012, 200_000, rtt=4e6), curve(1 / 0.012, 200_000)
    told = asked("rtt=0.5x@2", some, found, Around(below=curve(250, 200_000)))
    assert gain(told) == pytest.approx(12 / 8, rel=0.02) and "2.0 round trips" in told.rests_on


def test_points_that_no_curve_draws_still_tell_of_what_lies_between_them() -> None:
    crooked = fitted([LoadPoint(n, r, 0.005) for n, r in ((1, 100), (2, 200), (3, 300), (4, 250), (8, 500), (16, 500))])
    assert isinstance(crooked, NoCurve) and crooked.through is not None
    assert crooked.through.curve.rate(4) == pytest.approx(250, rel=0.02)
    some = points(100, 500)
    answer = what_if("iodepth=4@2", "top", some, ask(), crooked, 1.0, Around())
    assert gain(answer) == pytest.approx(1.25, rel=0.03) and "No curve fits" in answer.rests_on
    assert "no curve" in what_if("iodepth=64@2", "top", some, ask(), crooked, 1.0, Around()).refused


def test_half_the_round_trip_is_a_part_of_the_time() -> None:
    some, found = points(250, 200000, rtt=2e6), curve(250, 200000)
    assert gain(asked("rtt=0.5x@1", some, found)) == pytest.approx(4 / 3, rel=0.03)
    assert gain(asked("rtt=1ms@1", some, found)) == pytest.approx(4 / 3, rel=0.03)


def test_twice_the_cache_is_half_the_working_set() -> None:
    """8 of the cache: an I/O that misses takes 4 ms, one that hits none to speak of."""
    some = [
        ScalePoint(layer="top", value=w, outstanding=1, iops=one(1 / (0.0001 + 0.004 * max(0.0, 1 - 8 / w)), "IOPS"))
        for w in (4, 6, 8, 12, 16, 24, 32, 48)
    ]

    def told(words: str) -> WhatIf:
        return what_if(words, "top", some, ask(Axis.RANGE), NoCurve("no load"), 1.0, Around())

    real = (0.0001 + 0.004 * 0.75) / (0.0001 + 0.004 * 0.5)
    assert gain(told("cache=2x@32")) == pytest.approx(real, rel=0.02)
    assert "outside" in told("cache=2x@6").refused and "factor" in told("cache=16m@32").refused


def test_the_stack_says_how_many_there_are() -> None:
    stack = Stack.from_toml(
        '[stack]\nname = "x"\n[[layer]]\nname = "store"\nendpoint = "file:/x/y"\n'
        "expect.members = 2\nexpect.copies = 3\n"
        '[[layer]]\nname = "top"\non = ["store"]\nendpoint = "nbd://h/e?connections=4"\n'
    )
    found = around(stack, "top", {"store": curve(500, 4000)}, {})
    assert found.counted == {"connections": 4, "storage-nodes": 2, "copies": 3, "disks": 1}
    assert found.below is not None and around(stack, "store", {}, {}).counted == {"storage-nodes": 2, "copies": 3}
