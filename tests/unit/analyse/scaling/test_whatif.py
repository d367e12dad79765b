"""The closed network, and what it predicts of a change."""

from __future__ import annotations

import numpy as np
import pytest

from strata.analyse.scaling.fitted import Fitted, LoadPoint, fitted
from strata.analyse.scaling.network import Network, QueueStation
from strata.analyse.scaling.whatif import DELAY, LIMIT, Demand, Demands, at_load, network_of, with_change

LOADS = (1, 2, 4, 8, 16, 32, 64)


def recursion(demands: list[float], delay: float, n: int) -> float:
    """Exact mean value analysis of single servers (Reiser and Lavenberg 1980), as the other way to the same figure."""
    queues, rate = [0.0] * len(demands), 0.0
    for k in range(1, n + 1):
        waits = [d * (1 + q) for d, q in zip(demands, queues, strict=True)]
        rate = k / (delay + sum(waits))
        queues = [rate * w for w in waits]
    return rate


@pytest.mark.parametrize("n", [1, 2, 7, 40, 300])
def test_the_convolution_gives_what_the_recursion_gives(n: int) -> None:
    network = Network((QueueStation("a", 0.001), QueueStation("b", 0.0004), QueueStation("c", 0.0009)), 0.003)
    assert network.exact(n) == pytest.approx(recursion([0.001, 0.0004, 0.0009], 0.003, n), rel=1e-9)


def test_servers_are_between_one_and_none_that_is_waited_for() -> None:
    one, four, many = (Network((QueueStation("a", 0.004, m),), 0.001) for m in (1.0, 4.0, 1000.0))
    assert one.exact(8) < four.exact(8) < many.exact(8) == pytest.approx(8 / 0.005, rel=1e-6)
    assert four.exact(200) == pytest.approx(1000, rel=1e-6) and four.bound(3) == pytest.approx(600)


def curve(alone: float, limit: float) -> Fitted:
    found = fitted([LoadPoint(n, min(n * alone, limit), 0.005) for n in LOADS], draws=60)
    assert isinstance(found, Fitted)
    return found


def test_twice_an_unnamed_limit_gains_what_the_corner_allows() -> None:
    """A cap of 2,000 I/Os per second over 4 ms: with 4,000 a load of 12 gives its 3,000, and one of 64 gives 4,000."""
    known = curve(250.0, 2000.0)
    for load, truth in ((12, 1.5), (64, 2.0)):
        told = with_change(known, Demands(), LIMIT, 2.0, load)
        assert told.gain.low is not None and told.gain.high is not None
        assert told.gain.low <= truth <= told.gain.high and told.gain.value == pytest.approx(truth, rel=0.08)


def test_half_the_delay_gains_below_the_knee_and_nothing_beyond_it() -> None:
    known = curve(250.0, 2000.0)
    below, beyond = (with_change(known, Demands(), DELAY, 0.5, load).gain for load in (2, 64))
    assert below.low is not None and below.low <= 2.0 <= (below.high or 0)
    assert beyond.value == pytest.approx(1.0, abs=0.02)


def test_what_is_full_is_named_and_what_is_not_gains_nothing() -> None:
    """Two cores that are full at 2,000 I/Os per second, and a thread of the server that is half busy."""
    known = curve(250.0, 2000.0)
    demands = Demands((Demand("cores", 0.001, 2.0, 0.01), Demand("server", 0.00025, 1.0, 0.01)))
    assert LIMIT not in {s.name for s in network_of(known, demands).stations}
    more = with_change(known, demands, "cores", 2.0, 64)
    assert more.full == "cores" and more.gain.value == pytest.approx(2.0, rel=0.02) and more.beyond
    assert with_change(known, demands, "server", 2.0, 64).gain.value == pytest.approx(1.0, abs=0.02)
    four_times = with_change(known, demands, "cores", 4.0, 64)
    assert four_times.full == "server" and four_times.gain.value == pytest.approx(2.0, rel=0.02)


def test_a_resource_without_a_demand_is_no_answer() -> None:
    with pytest.raises(KeyError):
        with_change(curve(250.0, 2000.0), Demands(), "cards", 2.0, 64)


def test_another_load_is_read_off_the_curve_and_said_to_lie_beyond_it() -> None:
    known = curve(250.0, 2000.0)
    inside, outside = at_load(known, 3, 1), at_load(known, 128, 1)
    assert inside.rate.value == pytest.approx(750, rel=0.02) and not inside.beyond
    assert outside.beyond and outside.gain.value == pytest.approx(8.0, rel=0.03)


def test_a_part_of_the_delay_has_a_name() -> None:
    known = curve(250.0, 20000.0)
    told = with_change(known, Demands(apart={"rtt": 0.002}), "rtt", 0.5, 1)
    assert told.gain.value == pytest.approx(4 / 3, rel=0.02)
    assert np.isfinite(told.rate.value)
