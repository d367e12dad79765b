"""What visits of many cells say: pooled noise, smoothing that keeps kinks, and where the next second goes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from strata.analyse.matrix import gp
from strata.analyse.matrix.bound import fitted
from strata.analyse.matrix.needed import still
from strata.analyse.matrix.next import seen_once, visit_requests
from strata.analyse.matrix.predict import predict
from strata.analyse.matrix.starts import Spot, Starts, by_place, plausible, share_below
from strata.analyse.matrix.table import own_of, table_of
from strata.analyse.pooled import cell_noise, correlation, pooled, prior_of, together
from strata.analyse.visit import Visit, visit_from
from strata.model.matrix import Known
from strata.model.noise import PooledNoise

BIN_S = 0.05
NOISE = PooledNoise(
    variance_s=1e-4, spread_df=10, correlation_s=0.05, between=0.004, between_df=10, cells=40, seconds=60
)
DEPTHS, SIZES = (1, 2, 4, 8, 16, 32, 64), tuple(4096 << n for n in range(8))


def visit(
    cell: int, level: float, rng: np.random.Generator, *, tau_s: float = 0.0, sd: float = 0.03, n: int = 40
) -> Visit:
    r = math.exp(-BIN_S / tau_s) if tau_s else 0.0
    wander = [float(rng.normal())]
    for _ in range(n - 1):
        wander.append(r * wander[-1] + math.sqrt(1 - r * r) * float(rng.normal()))
    return Visit(cell=cell, rates=level * (1 + sd * np.array(wander)), bin_s=BIN_S)


def form(depth: int, size: int) -> float:
    latency = depth / (1e-4 + size / 1.5e9)
    full = 1 / (5e-6 + size / 3e9)
    return float((latency**-3 + full**-3) ** (-1 / 3))


def spots() -> list[Spot]:
    return [Spot(0, 0, d, s) for d in DEPTHS for s in SIZES]


def test_correlation_is_found_in_visits_too_short_to_show_it_alone() -> None:
    rng = np.random.default_rng(3)
    visits = [visit(i, 1e4, rng, tau_s=0.2) for i in range(200)]
    seconds, bins = correlation(visits)
    r = math.exp(-BIN_S / 0.2)
    assert bins == pytest.approx((1 + r) / (1 - r), rel=0.25)
    assert seconds == pytest.approx(bins * BIN_S)
    assert correlation([visit(i, 1e4, rng) for i in range(200)])[1] < 1.3
    # One visit that was longer than all others does not speak for them.
    odd, _ = correlation([*visits, visit(200, 1e4, rng, tau_s=5.0, n=400)])
    assert odd == pytest.approx(seconds, rel=0.3)


def test_what_differs_between_starts_is_told_from_what_differs_within_one() -> None:
    rng = np.random.default_rng(4)
    visits = [visit(i, 1e4 * float(np.exp(rng.normal(0, 0.02))), rng) for i in range(60) for _ in range(3)]
    found = pooled(visits)
    assert found is not None and found.between == pytest.approx(0.02, rel=0.3)
    assert found.variance_s == pytest.approx(0.03**2 * BIN_S, rel=0.4)
    quiet = pooled([visit(i, 1e4, rng) for i in range(60) for _ in range(3)])
    assert quiet is not None and quiet.between < 0.006
    # Nor is it less where the bins of a visit are all alike, or more for one start that a neighbour hit.
    steady = [visit(i, 1e4 * float(np.exp(rng.normal(0, 0.02))), rng, sd=1e-4) for i in range(60) for _ in range(3)]
    even = pooled(steady)
    hit = pooled([*steady[:-1], visit(59, 2e4, rng, sd=1e-4)])
    assert even is not None and even.between == pytest.approx(0.02, rel=0.3)
    assert hit is not None and hit.between == pytest.approx(even.between, rel=0.1)


def test_noise_of_several_runs_is_one_prior_and_counts_less_where_they_differ() -> None:
    other = NOISE.model_copy(update={"variance_s": 4e-2, "runs": ("b",)})
    alike = together([NOISE.model_copy(update={"runs": ("a",)}), NOISE.model_copy(update={"runs": ("b",)})])
    apart = together([NOISE.model_copy(update={"runs": ("a",)}), other])
    assert alike is not None and apart is not None and together([]) is None
    assert alike.runs == ("a", "b") and alike.variance_s == pytest.approx(1e-4)
    assert apart.spread_df < alike.spread_df
    prior = prior_of(alike)
    assert prior is not None and prior.variance_s == pytest.approx(1e-4)


def test_visits_that_disagree_widen_the_interval_and_are_called_moved() -> None:
    rng = np.random.default_rng(5)
    same = [visit(0, 1e4, rng) for _ in range(3)]
    apart = [visit(0, 1e4 * f, rng) for f in (1, 1, 1.5)]
    a, b = (own_of(v, cell_noise(v, 1.0), NOISE, NOISE.between) for v in (same, apart))
    assert a is not None and b is not None
    assert not a.moved and b.moved and b.half > 3 * a.half


def test_the_form_is_found_and_needs_enough_cells() -> None:
    depth = np.array([float(s.depth) for s in spots()])
    size = np.array([float(s.size) for s in spots()])
    level = np.log([form(s.depth, s.size) for s in spots()])
    found = fitted(depth, size, level, np.full(level.size, 1e-4))
    assert found is not None and float(np.abs(found - level).max()) < 0.02
    assert fitted(depth[:5], size[:5], level[:5], np.full(5, 1e-4)) is None


def test_the_gradient_of_the_likelihood_is_that_of_its_differences() -> None:
    rng = np.random.default_rng(6)
    where = rng.uniform(0, 6, (20, 2))
    pattern = rng.integers(0, 2, 20)
    level, noise = rng.normal(0, 0.1, 20), np.full(20, 1e-3)
    theta = gp.START + 0.1
    _, gradient = gp.cost(theta, where, pattern, level, noise)
    for i in range(theta.size):
        step = np.zeros(theta.size)
        step[i] = 1e-5
        ends = [gp.cost(theta + s * step, where, pattern, level, noise)[0] for s in (1, -1)]
        assert gradient[i] == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-3, abs=1e-4)


def test_leave_one_out_is_what_leaving_one_out_gives() -> None:
    rng = np.random.default_rng(7)
    where, pattern = rng.uniform(0, 6, (15, 2)), np.zeros(15, dtype=np.int64)
    level, noise = rng.normal(0, 0.1, 15), np.full(15, 1e-3)
    every = np.ones(15, dtype=bool)
    whole = gp.smooth(where, pattern, level, noise, every, gp.START)
    for i in (0, 7):
        without = every.copy()
        without[i] = False
        one = gp.smooth(where, pattern, level, noise, without, gp.START)
        assert whole.loo_mean[i] == pytest.approx(one.mean[i], abs=1e-6)
        assert whole.loo_variance[i] == pytest.approx(one.variance[i], rel=1e-3)


def test_a_kink_stays_as_it_was_measured_and_draws_no_neighbour() -> None:
    rng = np.random.default_rng(8)
    places = spots()
    at = places.index(Spot(0, 0, 8, 65536))
    visits = [
        visit(i, form(s.depth, s.size) * (0.6 if i == at else 1.0), rng) for i, s in enumerate(places) for _ in range(2)
    ]
    table, _ = table_of(places, visits, NOISE)
    own = table[at].own
    assert table[at].kink and not table[at].takes_smoothed and own is not None and table[at].level == own.level
    for i, s in enumerate(places):
        level = table[i].level
        assert level is not None
        if i != at:
            assert level == pytest.approx(math.log(form(s.depth, s.size)), abs=0.03)
    smoothed = [c for c in table if c.takes_smoothed]
    assert len(smoothed) > 45
    assert all(c.half is not None and c.own is not None and 0.6 * c.own.half <= c.half < c.own.half for c in smoothed)


def test_few_cells_are_not_smoothed() -> None:
    rng = np.random.default_rng(9)
    places = spots()[:6]
    table, theta = table_of(places, [visit(i, 1e4, rng) for i in range(6)], NOISE)
    assert all(c.smoothed is None and not c.takes_smoothed for c in table) and not theta


def test_time_goes_to_noisy_cells_and_none_to_those_within_the_target() -> None:
    rng = np.random.default_rng(10)
    places = [Spot(0, p, 1, 4096) for p in range(4)]
    visits = [visit(i, 1e4, rng, sd=sd, n=60) for i, sd in enumerate((0.01, 0.01, 0.2, 0.2))]
    noise = NOISE.model_copy(update={"spread_df": 1.0, "between": 0.002})
    table, _ = table_of(places, visits, noise)
    how = {"start_s": 0.1, "shortest": 0.5, "longest": 5.0}
    first = visit_requests(table, noise, seconds=3.0, target=None, **how)  # type: ignore[arg-type]
    assert {w.cell for w in first} <= {2, 3} and sum(w.seconds + 0.1 for w in first) <= 3.0001
    enough = visit_requests(table, noise, seconds=60.0, target=0.02, **how)  # type: ignore[arg-type]
    assert {w.cell for w in enough} == {2, 3}
    assert {
        w.cell for w in visit_requests(table, noise, seconds=60.0, target=0.02, left_out=frozenset({2}), **how)
    } == {3}  # type: ignore[arg-type]


def test_a_prediction_falls_with_the_budget_and_ends_at_what_differs_between_starts() -> None:
    how = {"cells": 100, "start_s": 0.1, "shortest": 0.5, "longest": 5.0}
    noisy = NOISE.model_copy(update={"variance_s": 8e-4})
    short, long = (predict(noisy, Known.FLOOR, budget_s=b, target=0.01, **how) for b in (100.0, 1000.0))  # type: ignore[arg-type]
    assert long.error_p95 < short.error_p95 and long.error_median < long.error_p95
    assert short.seconds_for_target is not None and short.seconds_for_target == long.seconds_for_target
    jumpy = NOISE.model_copy(update={"between": 0.2})
    assert predict(jumpy, Known.FLOOR, budget_s=1000.0, target=0.01, **how).seconds_for_target is None  # type: ignore[arg-type]


def test_few_repeats_leave_open_what_starts_differ_by_and_many_close_it() -> None:
    rng = np.random.default_rng(13)

    def reach(starts: int) -> tuple[float, float]:
        visits = [visit(i, 1e4 * math.exp(rng.normal(0, 0.02)), rng, n=40) for i in range(4) for _ in range(starts)]
        seen = plausible(visits, NOISE.model_copy(update={"between_df": 0.0}), None)
        low, high = (share_below(seen.between, seen.weight, share) for share in (0.05, 0.95))
        return low, high

    (few_low, few_high), (low, high) = reach(2), reach(60)
    assert low <= 0.021 <= high * 1.1 and high / low < 1.6 and few_high / few_low > 2.5
    # Without any repeat it is what is usual, and earlier runs count for their degrees of freedom.
    before = plausible((), NOISE, NOISE.model_copy(update={"between": 0.05, "between_df": 60.0}))
    assert share_below(before.between, before.weight, 0.5) == pytest.approx(0.05, rel=0.25)


def test_cells_that_are_near_enough_need_nothing_more_and_doubted_ones_a_third_visit() -> None:
    rng = np.random.default_rng(14)
    places = spots()
    at = places.index(Spot(0, 0, 8, 65536))
    bins = {"sd": 0.02, "n": 40}
    visits = [visit(i, form(s.depth, s.size) * (0.6 if i == at else 1.0), rng, **bins) for i, s in enumerate(places)]
    table, theta = table_of(places, visits, NOISE)
    starts = Starts(np.array([0.002]), np.array([1.0]))
    how = {"start_s": 0.1, "shortest": 0.5, "longest": 5.0, "spent_s": 100.0}
    wide = still(table, places, theta, starts, 0.2, **how)
    doubted = sum(c.suspect or c.kink for c in table)
    twice = max(0.0, len(places) / 3 - doubted)
    assert table[at].kink and wide.seconds == pytest.approx(100 + (doubted * 2 + twice) * 0.6, rel=0.02)
    narrow = still(table, places, theta, starts, 0.002, **how)
    assert narrow.seconds is not None and wide.seconds is not None and narrow.seconds > 3 * wide.seconds
    jumpy = Starts(np.array([0.2]), np.array([1.0]))
    assert still(table, places, theta, jumpy, 0.002, **how).seconds is None


def test_what_starts_differ_by_is_known_by_place_and_elsewhere_it_is_the_tables() -> None:
    rng = np.random.default_rng(16)
    places = spots()
    sd = [0.03 if s.depth <= 2 else 0.001 for s in places]
    by_cell = {
        i: [visit(i, 1e4 * math.exp(rng.normal(0, sd[i])), rng, n=200) for _ in range(3)] for i in range(len(places))
    }
    noise = pooled([v for some in by_cell.values() for v in some])
    assert noise is not None
    cells = {i: c for i, some in by_cell.items() if (c := cell_noise(some, 1.0)) is not None}
    local = by_place(places, by_cell, cells, noise)
    depth = np.array([s.depth for s in places])
    # Drawn towards the table's, and neighbours at other depths count.
    shallow, deep = (float(np.median(local[depth == d])) for d in (1, depth.max()))
    assert noise.between == pytest.approx(0.03 * math.sqrt(2 / 7), rel=0.2)
    assert 1.3 * noise.between < shallow < 0.03 and deep < 0.5 * noise.between
    alone = by_place(places, {i: some[:1] for i, some in by_cell.items()}, cells, noise)
    assert (alone == noise.between).all()


def test_cells_are_visited_twice_until_a_third_of_them_were_and_they_are_spread() -> None:
    rng = np.random.default_rng(17)
    places = spots()
    visits = [visit(i, form(s.depth, s.size), rng) for i, s in enumerate(places)]
    table, _ = table_of(places, visits, NOISE)
    found = seen_once(table, range(len(places)))
    assert len(found) == math.ceil(len(places) / 3) and {places[i].depth for i in found} == {s.depth for s in places}
    again = [visit(i, form(places[i].depth, places[i].size), rng) for i in found[:-2]]
    table, _ = table_of(places, [*visits, *again], NOISE)
    assert seen_once(table, range(len(places))) == found[-2:]


def test_a_cell_whose_visits_run_out_gets_longer_ones() -> None:
    rng = np.random.default_rng(15)
    visits = [visit(0, 1e4, rng, sd=0.2, n=20) for _ in range(16)]
    noise = NOISE.model_copy(update={"variance_s": 2e-3, "between": 0.001})
    table, _ = table_of([Spot(0, 0, 1, 4096)], visits, noise)
    how = {"seconds": 60.0, "start_s": 0.1, "shortest": 0.5, "longest": 2.0}
    (plain,) = visit_requests(table, noise, target=None, **how)  # type: ignore[arg-type]
    assert table[0].half is not None
    (pressed,) = visit_requests(table, noise, target=math.expm1(0.85 * table[0].half), **how)  # type: ignore[arg-type]
    assert plain.seconds <= 2.0 < pressed.seconds <= 8.0
    # Where the starts differ by too much no length helps.
    (vain,) = visit_requests(table, noise, target=1e-4, **how)  # type: ignore[arg-type]
    assert vain.seconds <= 2.0


def test_a_ramp_is_no_part_of_a_visit_and_nothing_is_no_visit() -> None:
    rng = np.random.default_rng(12)
    rates = np.concatenate([np.linspace(1e3, 9e3, 8), 1e4 * (1 + 0.01 * rng.normal(size=40))])
    found = visit_from(0, rates, BIN_S)
    assert found is not None and math.exp(found.level) == pytest.approx(1e4, rel=0.02)
    assert visit_from(0, np.zeros(40), BIN_S) is None
    assert visit_from(0, np.full(2, 1e4), BIN_S) is None


def test_an_endpoint_that_gives_the_same_in_every_bin_has_a_noise_and_a_table() -> None:
    # As a cap does it: 300 a second, 15 in each bin of 50 ms, in each cell and at each visit.
    visits = [v for cell in range(8) for _ in range(2) if (v := visit_from(cell, np.full(20, 300.0), 0.05)) is not None]
    noise = pooled(visits)
    assert noise is not None and 0 < noise.variance_s < 1e-3
    spots = [Spot(0, 0, depth, size) for depth in (1, 2) for size in (4096, 8192, 16384, 32768)]
    with np.errstate(divide="raise", invalid="raise"):
        table, _ = table_of(spots, visits, noise)
    assert all(c.level == pytest.approx(math.log(300)) and c.half is not None and c.half > 0 for c in table)
