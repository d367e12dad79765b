"""The equivalence test: within, above, faster, or cannot tell; never equal for want of difference."""

from __future__ import annotations

import math
import random

import pytest

from strata.analyse import analyse
from strata.analyse.compare import equivalence, expected_overhead, held_open
from strata.model.analysis import Analysis, Equivalence
from strata.model.estimate import Estimate
from strata.model.result import CellResult
from strata.model.stack import Expect, Layer, Stack

from .material import cell_result, engine_result, plan_of, workload

DISK = Layer(name="disk", endpoint="block:/dev/x")
FILE = Layer(name="file", endpoint="file:/x", on=("disk",))
SHARE = Layer(name="share", endpoint="nbd://h:1/x", on=("file",))


def ratio(low: float, value: float, high: float) -> Estimate:
    return Estimate(value=value, low=low, high=high, n=3, unit="ratio")


@pytest.mark.parametrize(
    ("interval", "verdict"),
    [
        ((0.96, 0.98, 1.01), Equivalence.WITHIN),
        ((0.94, 0.97, 1.01), Equivalence.CANNOT_TELL),
        ((0.80, 0.85, 0.90), Equivalence.ABOVE),
        ((1.06, 1.10, 1.15), Equivalence.FASTER),
        ((0.99, 1.10, 1.15), Equivalence.WITHIN),
        ((0.5, 1.0, 2.0), Equivalence.CANNOT_TELL),
        ((0.26, 1.50, 2.74), Equivalence.CANNOT_TELL),
        ((0.31, 0.46, 0.77), Equivalence.ABOVE),
    ],
)
def test_the_whole_interval_decides(interval: tuple[float, float, float], verdict: Equivalence) -> None:
    assert equivalence(ratio(*interval), 0.05) is verdict


def test_one_round_cannot_tell() -> None:
    one = Estimate(value=0.2, low=None, high=None, n=1, unit="ratio")
    assert equivalence(one, 0.05) is Equivalence.CANNOT_TELL


def test_what_is_expected_where_nothing_was_said() -> None:
    assert expected_overhead(FILE, DISK) == 0.05
    assert expected_overhead(SHARE, FILE) == 0.15
    said = SHARE.model_copy(update={"expect": Expect(overhead_max=0.4)})
    assert expected_overhead(said, FILE) == 0.4


def analysis(share: float, *, sd: float, rounds: int, seed: int, drift: float = 0.3) -> Analysis:
    rng = random.Random(seed)
    shared = [rng.gauss(0, drift) for _ in range(rounds)]
    stack = Stack(name="s", layers=(DISK, FILE))
    workloads = [workload(depth=d) for d in (1, 2, 4, 8)]
    results: list[CellResult] = []
    for w in workloads:
        for r in range(rounds):
            for layer, x in (("disk", 1e4), ("file", 1e4 * share)):
                noisy = x * math.exp(rng.gauss(0, sd) + shared[r])
                results.append(cell_result(layer, w, r, engine_result(w, noisy)))
    return analyse(plan_of(stack, workloads, rounds), results)


@pytest.mark.parametrize(
    ("share", "depth", "verdict", "unserved"),
    [
        (0.22, 32, Equivalence.CANNOT_TELL, True),
        (0.22, 8, Equivalence.ABOVE, False),
        (0.004, 32, Equivalence.ABOVE, True),
    ],
)
def test_what_did_not_serve_its_queue_once_is_slow_only_where_it_could_not_have_been_under_way(
    share: float, depth: int, verdict: Equivalence, unserved: bool
) -> None:
    """A disk that takes requests in an order of its own: 40 of them in the time, or 9 and 32 that are not done."""
    stack, deep, below = Stack(name="s", layers=(DISK, FILE)), workload(depth=depth), 40 if share > 0.1 else 1000
    results = [
        cell_result(layer, deep, r, engine_result(deep, x, seconds=1.0))
        for r in range(3)
        for layer, x in (("disk", below), ("file", below * share))
    ]
    (one,) = analyse(plan_of(stack, [deep], 3), results).comparisons
    assert (one.verdict, one.unserved) == (verdict, unserved)
    assert held_open(one, (deep, round(below * share)), (deep, below)) == one, "said once"


def test_pairing_by_round_takes_a_drift_of_30_percent_out() -> None:
    for one in analysis(0.9, sd=0.01, rounds=5, seed=1).comparisons:
        assert one.iops.low is not None and one.iops.low <= 0.9 * 1.02
        assert one.iops.half_width is not None and one.iops.half_width < 0.03


@pytest.mark.ci
def test_the_ratio_interval_covers_the_truth() -> None:
    inside = total = 0
    for seed in range(150):
        for one in analysis(0.8, sd=0.05, rounds=3, seed=seed).comparisons:
            assert one.iops.low is not None and one.iops.high is not None
            inside += one.iops.low <= 0.8 <= one.iops.high
            total += 1
    assert 0.92 <= inside / total <= 0.985


@pytest.mark.ci
def test_equal_layers_are_blamed_in_no_seed_and_half_speed_is_seen_in_every_one() -> None:
    for seed in range(60):
        equal = analysis(1.0, sd=0.05, rounds=3, seed=seed)
        assert all(c.verdict in (Equivalence.WITHIN, Equivalence.CANNOT_TELL) for c in equal.comparisons)
        slow = analysis(0.5, sd=0.05, rounds=3, seed=seed)
        assert all(c.verdict is Equivalence.ABOVE for c in slow.comparisons)


def test_added_time_is_the_difference_of_means() -> None:
    one = analysis(0.5, sd=0.005, rounds=4, seed=3, drift=0.0).comparisons[3]
    assert one.added_ns.value == pytest.approx(8 / 1e4 * 1e9, rel=0.05)
    assert one.latency == {}
