"""The layer below as a station, and what more queues, disks or members bring."""

from __future__ import annotations

import pytest

from strata.analyse.scaling.beneath import Beneath, dealt_window, window_gain, windowed
from strata.analyse.scaling.plateau import Plateau

BELOW = Plateau(alone=500.0, limit=4000.0, sharpness=30.0)
"""Eight servers of 2 ms."""
TOP = Plateau(alone=400.0, limit=800.0, sharpness=30.0)
"""Two at once, and 0.5 ms more for each."""


def test_what_is_inside_follows_from_littles_law() -> None:
    layer = Beneath.of(TOP, BELOW)
    assert layer.extra == pytest.approx(0.0005)
    assert layer.inside(800.0) == pytest.approx(2.0, rel=0.01)
    assert layer.rate(4) == pytest.approx(1600, rel=0.01) and layer.rate(1000) == pytest.approx(4000, rel=0.01)


def test_more_queues_gain_until_the_layer_below_is_full() -> None:
    assert window_gain(TOP, BELOW, 64, queues=2) == pytest.approx(2.0, rel=0.01)
    assert window_gain(TOP, BELOW, 3, queues=4) == pytest.approx(1.5, rel=0.01), "no more than is in flight"
    assert window_gain(TOP, BELOW, 64, queues=100) == pytest.approx(5.0, rel=0.01)


def test_a_layer_that_is_as_fast_as_the_one_below_gains_nothing_by_queues() -> None:
    assert not windowed(BELOW, BELOW)
    assert window_gain(BELOW, BELOW, 64, queues=4) == pytest.approx(1.0)


def test_twice_the_members_serve_twice_the_load_alike() -> None:
    assert window_gain(BELOW, BELOW, 64, members=2) == pytest.approx(2.0, rel=0.01)
    assert window_gain(BELOW, BELOW, 4, members=2) == pytest.approx(1.0, rel=0.01)


def test_what_is_dealt_in_turn_leaves_queues_empty() -> None:
    assert dealt_window(1, 8.0, 4) == pytest.approx(1.0)
    assert 5.0 < dealt_window(8, 8.0, 4) < 6.0
    assert dealt_window(200, 8.0, 4) == pytest.approx(8.0, rel=0.03)
