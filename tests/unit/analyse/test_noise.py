"""The noise floor: what is left when the drift of each round is taken out."""

from __future__ import annotations

import math
import random

import pytest

from strata.analyse.noise import interval_rates, noise_floor, pieces
from strata.analyse.rounds import CellRounds, collect
from strata.model.noise import PooledNoise
from strata.model.run import NoiseProbe

from .material import cell_result, engine_result, workload


def cells(sd: float, drift: float, *, rounds: int = 5, many: int = 12, seed: int = 1) -> list[CellRounds]:
    rng = random.Random(seed)
    shared = [rng.gauss(0, drift) for _ in range(rounds)]
    found = []
    for i in range(many):
        w = workload(depth=i + 1)
        steps = [
            cell_result("a", w, r, engine_result(w, 1e5 * (i + 1) * math.exp(rng.gauss(0, sd) + shared[r])))
            for r in range(rounds)
        ]
        found.append(collect("a", w, steps))
    return found


@pytest.mark.parametrize("sd", [0.02, 0.1])
def test_the_spread_between_rounds_is_found_under_a_drift_five_times_as_large(sd: float) -> None:
    found = [noise_floor(cells(sd, 5 * sd, seed=s)).between_rounds for s in range(20)]
    assert sum(found) / len(found) == pytest.approx(sd, rel=0.15)


def test_the_tolerance_is_what_two_equal_cells_exceed_once_in_twenty() -> None:
    beyond = total = 0
    for seed in range(60):
        known = cells(0.05, 0.1, seed=seed, rounds=4)
        tolerance = noise_floor(known).tolerance
        for a, b in zip(known[::2], known[1::2], strict=True):
            logs = [math.log(x.iops / y.iops) for x, y in zip(a.values, b.values, strict=True)]
            truth = math.log(a.workload.outstanding / b.workload.outstanding)
            beyond += abs(sum(logs) / len(logs) - truth) > tolerance
            total += 1
    assert 0.01 <= beyond / total <= 0.10


def test_one_troubled_cell_does_not_set_the_floor() -> None:
    known = cells(0.02, 0.0)
    w = workload(depth=99)
    wild = collect(
        "a", w, [cell_result("a", w, r, engine_result(w, x)) for r, x in enumerate((1e4, 9e4, 2e4, 8e4, 5e4))]
    )
    assert noise_floor([*known, wild]).between_rounds < 0.04


def test_one_round_says_so_and_takes_the_spread_inside_for_it() -> None:
    w = workload()
    one = collect("a", w, [cell_result("a", w, 0, engine_result(w, 1000, rates=(900, 1100, 1000, 1000)))])
    floor = noise_floor([one])
    assert floor.rounds == 1
    assert floor.tolerance == pytest.approx(2 * floor.within_bins)
    assert noise_floor([]).cells == 0


def first_look(between: float) -> NoiseProbe:
    return NoiseProbe(
        layer="a",
        workload_key="w",
        repeats=6,
        seconds=0.4,
        bin_ns=50_000_000,
        between=between,
        within_bins=0.2,
        iops=1e5,
    )


def test_a_noisy_first_look_widens_the_floor_and_does_not_drown_the_rounds() -> None:
    known = cells(0.02, 0.0)
    plain, warned = noise_floor(known), noise_floor(known, first_look(0.28))
    assert plain.tolerance < warned.tolerance
    assert 0.05 < warned.between_rounds < 0.14


def test_a_quiet_first_look_promises_nothing() -> None:
    known = cells(0.05, 0.0)
    assert noise_floor(known, first_look(0.001)) == noise_floor(known)


EARLIER = PooledNoise(
    variance_s=1e-4, spread_df=5, correlation_s=0.1, between=0.04, between_df=20, cells=50, seconds=100
)


def test_earlier_runs_widen_a_quiet_run_a_little_and_never_narrow_one() -> None:
    quiet = noise_floor(cells(0.02, 0.0))
    widened = noise_floor(cells(0.02, 0.0), earlier=EARLIER)
    assert quiet.between_rounds < widened.between_rounds < 1.5 * quiet.between_rounds
    awful = noise_floor(cells(0.02, 0.0), earlier=EARLIER.model_copy(update={"between": 3.0}))
    assert awful.between_rounds < 1.5 * quiet.between_rounds
    still = EARLIER.model_copy(update={"between": 0.001, "variance_s": 1e-8})
    assert noise_floor(cells(0.02, 0.0), earlier=still) == quiet


def test_one_round_takes_its_tolerance_from_earlier_runs() -> None:
    alone = noise_floor(cells(0.0, 0.0, rounds=1))
    known = noise_floor(cells(0.0, 0.0, rounds=1), earlier=EARLIER)
    assert known.tolerance == pytest.approx(2 * EARLIER.error(1.0), rel=0.2) and known.tolerance > alone.tolerance


@pytest.mark.parametrize(("span_ms", "count", "pieces_made"), [(20, 50, 8), (20, 100, 8), (250, 4, 4), (1000, 30, 30)])
def test_what_is_said_of_evenness_does_not_hang_on_the_length_of_intervals(
    span_ms: int, count: int, pieces_made: int
) -> None:
    result = engine_result(workload(), 1000, seconds=count * span_ms / 1000, rates=[1000.0] * count)
    made = pieces(result.intervals)
    assert abs(len(made) - pieces_made) <= 1
    assert sum(ops for _, _, ops in made) == sum(i.read.ops for i in result.intervals)
    assert made[0][0] == 0 and made[-1][1] == result.intervals[-1].end_ns
    assert interval_rates(result.intervals) == pytest.approx([1000.0] * len(interval_rates(result.intervals)))
