"""Members over which I/Os are spread at random, and a curve bent towards its points."""

from __future__ import annotations

import heapq
import random

import numpy as np
import pytest

from strata.analyse.scaling.beneath import UnderWay
from strata.analyse.scaling.members import Members, members_of
from strata.analyse.scaling.network import Network, QueueStation
from strata.analyse.scaling.plateau import Plateau
from strata.analyse.scaling.traced import Traced

ONE = Plateau(alone=250.0, limit=1000.0, sharpness=30.0)
"""Four servers of 4 ms."""


def drawn(many: int, load: int, seconds: float = 120.0) -> float:
    """I/Os per second of so many members, each I/O to any of them; exponential service, event by event."""
    rng, ends, waiting, busy, done, now = random.Random(7), list[tuple[float, int]](), [0] * many, [0] * many, 0, 0.0

    def arrives() -> None:
        at = rng.randrange(many)
        if busy[at] < 4:
            busy[at] += 1
            heapq.heappush(ends, (now + rng.expovariate(250.0), at))
        else:
            waiting[at] += 1

    for _ in range(load):
        arrives()
    while now < seconds:
        now, at = heapq.heappop(ends)
        done += 1
        busy[at] -= 1
        if waiting[at]:
            waiting[at] -= 1
            busy[at] += 1
            heapq.heappush(ends, (now + rng.expovariate(250.0), at))
        arrives()
    return done / now


@pytest.mark.parametrize("load", [6, 16, 32])
def test_members_are_as_fast_as_they_are_when_every_io_is_played(load: int) -> None:
    exact = Network(tuple(QueueStation(str(i), 0.004 / 3, 4) for i in range(3))).exact(load)
    assert drawn(3, load) == pytest.approx(exact, rel=0.02)
    stations = Plateau(alone=250.0, limit=1000.0, sharpness=30.0)
    assert Members(stations, 3).rate(load) == pytest.approx(exact, rel=0.03)


def test_what_one_member_gives_follows_from_the_points_of_two() -> None:
    loads = [1, 2, 4, 8, 16, 32]
    found = members_of(loads, [Members(ONE, 2).rate(n) for n in loads], 2)
    assert [found.one.rate(n) for n in (1, 4, 16)] == pytest.approx([ONE.rate(n) for n in (1, 4, 16)], rel=0.03)
    assert Members(ONE, 1).rate(3) == pytest.approx(ONE.rate(3), rel=1e-6)
    deep = Members(Plateau(alone=1.0, limit=900.0, sharpness=30.0), 2)
    assert deep.rate(2) == pytest.approx(2.0, rel=0.01) and deep.rate(1024) < 1024


def test_a_curve_is_bent_as_far_as_the_points_are_sure() -> None:
    loads, off = np.array([1.0, 2.0, 4.0, 8.0]), np.array([0.0, 0.0, 0.1, 0.0])
    rates = ONE.rates(loads) * np.exp(off)
    sure = Traced.through(ONE, loads, rates, np.full(4, 0.005))
    assert sure.rate(4) == pytest.approx(rates[2], rel=0.005) and sure.rate(100) == pytest.approx(ONE.rate(100))
    unsure = Traced.through(ONE, loads, rates, np.full(4, 0.2))
    assert unsure.rate(4) == pytest.approx(ONE.rate(4), rel=1e-6)


def test_a_window_shows_where_the_devices_hold_no_more() -> None:
    below = tuple((n, n * 1.03) for n in (1, 2, 4, 8, 16, 32, 64))
    held = UnderWay(tuple((n, min(n, 16) * 1.03) for n in (1, 2, 4, 8, 16, 32, 64)), below)
    assert held.window() == pytest.approx(16.0, rel=0.02)
    assert UnderWay(below, below).window() is None, "it grows with the load"
    assert UnderWay(((8.0, 4.1), (16.0, 8.2)), below).window() is None, "half is on the way, and it grows"
