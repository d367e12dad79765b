"""The pace of a device's completions: servers and service time of queues that are worked out, and nothing where there
is none.
"""

from __future__ import annotations

import random

import pytest
from tiers import rest_in_ci

from strata.analyse.watch import pacing
from tests.unit.diagnose.watched import queue


@pytest.mark.parametrize(("servers", "outstanding"), [(1, 4), (2, 8), (3, 16), (4, 16), (7, 32)])
def test_servers_and_service_time_are_found_under_a_little_noise(servers: int, outstanding: int) -> None:
    chance = random.Random(servers)
    found = pacing.pace(queue(outstanding, servers, lambda n, s: 2400 + chance.gauss(0, 30) + 77 * (n < servers) * n))
    assert found is not None
    assert found.at_once == servers
    assert found.service_ns == pytest.approx(2.4e6, rel=0.03)


def test_a_cap_paces_single_completions_closer_than_one_request_takes() -> None:
    found = pacing.pace(queue(16, 64, lambda n, s: 2400, gap_us=lambda _: 1000))
    assert found is not None
    assert (found.at_once, found.per_byte) == (1, None)
    assert found.service_ns == pytest.approx(1e6, rel=0.02)


def test_a_limit_on_bytes_is_told_by_requests_of_several_sizes() -> None:
    found = pacing.pace(queue(16, 64, lambda n, s: 2400, sizes=(4096, 16384, 8192, 65536), gap_us=lambda b: b / 20))
    assert found is not None
    assert found.per_byte is True


@pytest.mark.parametrize("late_us", [80, 150, 220])
def test_a_cap_is_found_behind_answers_that_come_late(late_us: float) -> None:
    chance = random.Random(late_us)
    capped = queue(16, 64, lambda n, s: 2400 + abs(chance.gauss(0, late_us)), gap_us=lambda _: 1000)
    found = pacing.pace(capped)
    assert found is not None
    assert (found.at_once, found.per_byte) == (1, None)
    assert found.service_ns == pytest.approx(1e6, rel=0.02)


@pytest.mark.parametrize("servers", rest_in_ci(range(2, 9), [2, 8]))
@pytest.mark.parametrize("vary_us", rest_in_ci([30, 120, 300, 600, 1200], [30, 1200]))
def test_servers_whose_times_vary_are_never_taken_for_a_cap(servers: int, vary_us: float) -> None:
    for seed in range(5):
        chance = random.Random(f"{servers} {vary_us} {seed}")
        took = [max(100.0, chance.gauss(2400, vary_us)) for _ in range(800)]
        found = pacing.pace(queue(24, servers, lambda n, s, took=took: took[n]))  # type: ignore[misc]
        assert found is None or found.at_once == servers


def test_random_service_times_have_no_pace() -> None:
    chance = random.Random(1)
    assert pacing.pace(queue(16, 4, lambda n, s: chance.expovariate(1 / 2400))) is None


def test_without_a_queue_there_is_no_pace() -> None:
    assert pacing.pace(queue(1, 4, lambda n, s: 2400)) is None


def test_who_met_nobody_and_who_came_together_is_told() -> None:
    burst = pacing.burst([queue(16, 4, lambda n, s: 2400)])
    assert burst is not None
    assert (burst.count, burst.together) == (16, 4)
    assert burst.first_ns == pytest.approx(2.4e6)
    alone = pacing.alone([queue(1, 4, lambda n, s: 2400, count=50)])
    assert alone is not None
    assert alone.count == 50
    assert alone.median_ns == pytest.approx(2.4e6)


def test_a_stretch_from_the_middle_says_nothing_of_who_was_there_before() -> None:
    stretch = queue(16, 4, lambda n, s: 2400).model_copy(update={"fresh": False})
    assert pacing.burst([stretch]) is None


def test_a_limit_that_is_charged_after_each_request_is_told_as_well() -> None:
    sizes = (4096, 16384, 8192, 65536)
    plain = queue(12, 64, lambda n, s: 2400, sizes=sizes, gap_us=lambda b: b / 9)
    turned = plain.model_copy(update={"bytes": plain.bytes[1:] + plain.bytes[:1]})
    for one in (plain, turned):
        found = pacing.pace(one)
        assert found is not None
        assert found.per_byte is True


def test_a_few_requests_of_another_size_tell_nothing_of_a_limit_on_bytes() -> None:
    sizes = (*(131072,) * 40, 4096)
    found = pacing.pace(queue(8, 64, lambda n, s: 2400, sizes=sizes, gap_us=lambda b: b / 11))
    assert found is not None
    assert found.per_byte is None
