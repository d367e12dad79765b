"""Two runs compared with each other: what is called slower, equal, or not told, and how often that is wrong."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence

import pytest
from tiers import rest_in_ci

from strata.analyse.shift import gaps_of
from strata.analyse.stats import holm
from strata.analyse.two import by_cell, compare_cells
from strata.model.compared import CellCompared, Change
from strata.model.step_figures import GRID, StepFigures, pack


def step(cell: int, number: int, iops: float, times: tuple[float, ...] = (), ops: int = 1_000_000) -> StepFigures:
    at = dict(zip(GRID, times, strict=True)) if times else {}
    return StepFigures(
        run_id="r", created_unix_ns=1, order=number, round=number, kind="measure", layer="disk",
        workload_key=f"randread-8KiB-qd{cell}", identity="h", ops=ops, errored=0, iops=iops,
        bytes_per_second=iops * 8192, mean_ns=8e9 / iops, p50_ns=at.get(50.0), p90_ns=at.get(90.0),
        p99_ns=at.get(99.0), p999_ns=at.get(99.9), packed=pack(times), caching="direct",
    )  # fmt: skip


def run(rng: random.Random, sd: float, factor: Callable[[int], float], cells: int = 8, rounds: int = 5, **more: float):
    steps = []
    for c in range(1, cells + 1):
        shared = rng.gauss(0, more.get("between", 0.0))
        for r in range(rounds):
            steps.append(step(c, r, 1000 * c * factor(c) * math.exp(shared + rng.gauss(0, sd))))
    return by_cell(steps)


def compared(a, b, **options: float) -> tuple[CellCompared, ...]:
    return compare_cells(a, b, {}, **options)[0]


def test_a_loss_is_found_where_it_is_and_the_other_cells_are_equal() -> None:
    rng = random.Random(1)
    cells = compared(run(rng, 0.01, lambda c: 1), run(rng, 0.01, lambda c: 0.85 if c == 3 else 1))
    assert [c.verdict for c in cells] == [Change.SLOWER if i == 2 else Change.EQUIVALENT for i in range(8)]
    assert cells[2].beyond_margin
    low, high = cells[2].iops.low, cells[2].iops.high
    assert low is not None and high is not None and low < 0.85 < high


def test_noise_is_never_taken_for_equality() -> None:
    rng = random.Random(2)
    cells = compared(run(rng, 0.2, lambda c: 1), run(rng, 0.2, lambda c: 1))
    assert {c.verdict for c in cells} == {Change.CANNOT_TELL}
    assert all(c.why for c in cells)


def test_one_round_on_each_side_tells_nothing_unless_the_noise_between_runs_is_said() -> None:
    rng = random.Random(3)
    a, b = run(rng, 0.0, lambda c: 1, rounds=1), run(rng, 0.0, lambda c: 0.5, rounds=1)
    assert {c.verdict for c in compared(a, b)} == {Change.CANNOT_TELL}
    assert {c.iops.low for c in compared(a, b)} == {None}
    assert {c.verdict for c in compared(a, b, between_runs=0.03)} == {Change.SLOWER}


def test_equal_runs_are_rarely_called_different_and_the_whole_table_counts() -> None:
    """300 tables of 8 equal cells: at most one in twenty holds a false claim (the bound is 15 and its noise)."""
    rng = random.Random(4)
    wrong = 0
    for _ in range(300):
        between = 0.03
        a, b = (run(rng, 0.02, lambda c: 1, between=between) for _ in "ab")
        cells = compared(a, b, between_runs=between)
        wrong += any(c.verdict in (Change.SLOWER, Change.FASTER) for c in cells)
    assert wrong <= 15


def test_a_tenth_less_is_found_and_its_interval_covers() -> None:
    rng = random.Random(5)
    found = covered = 0
    for _ in range(100):
        cells = compared(run(rng, 0.02, lambda c: 1), run(rng, 0.02, lambda c: 0.9))
        found += sum(c.verdict is Change.SLOWER for c in cells)
        covered += sum(c.iops.low <= 0.9 <= c.iops.high for c in cells if c.iops.low and c.iops.high)
    assert found >= 760 and covered >= 744  # of 800: 95 %, and 93 % for a nominal 95 % interval


def test_a_small_change_is_not_told_where_nobody_said_what_equal_runs_differ_by() -> None:
    rng = random.Random(6)
    a, b = run(rng, 0.005, lambda c: 1), run(rng, 0.005, lambda c: 0.957)
    said, unsaid = compared(a, b, between_runs=0.0), compared(a, b)
    assert sum(c.verdict is Change.SLOWER for c in said) >= 4
    assert {c.verdict for c in unsaid} <= {Change.CANNOT_TELL, Change.EQUIVALENT}


def tables(cells: int, rounds: int, noisy: float, times: int, seed: int, calm=0.02, between=0.0, others=0):
    """(tables of equal runs with a false word, intervals of the last cell that hold, losses of a tenth found): the last
    cell has ``noisy`` between rounds and ``between`` from run to run, the others ``calm`` and a fifth of it."""
    rng = random.Random(seed)
    wrong = held = found = 0

    def one(loss: float = 0.0) -> dict[str, list[float]]:
        made = {}
        for c in range(1, cells + 1):
            last = c == cells
            level = 1000 * (1 - loss * (c == 1)) * math.exp(rng.gauss(0, between if last else 0.2 * between))
            made[f"disk/randread-8KiB-qd{c}"] = [
                level * math.exp(rng.gauss(0, noisy if last else calm)) for _ in range(rounds)
            ]
        return made

    def steps(run: dict[str, list[float]]):
        return by_cell(step(c, r, x) for c, xs in enumerate(run.values(), start=1) for r, x in enumerate(xs))

    for _ in range(times):
        earlier = [one() for _ in range(others)]
        history = (lambda names, earlier=earlier: [[run[n] for run in earlier] for n in names]) if others else None
        a = steps(one())
        cells_of = compare_cells(a, steps(one()), {}, history=history).cells
        wrong += any(c.verdict in (Change.SLOWER, Change.FASTER) for c in cells_of)
        last = cells_of[-1].iops
        held += last.low is not None and last.high is not None and last.low <= 1 <= last.high
        found += compare_cells(a, steps(one(0.1)), {}, history=history).cells[0].verdict is Change.SLOWER
    return wrong / times, held / times, found / times


@pytest.mark.ci
def test_a_cell_noisier_than_the_others_is_held_to_its_own_rounds() -> None:
    wrong, held, found = tables(8, 3, 0.06, 150, seed=8)
    assert wrong <= 0.06 and held >= 0.86 and found >= 0.92  # two standard errors: 0.036, 0.05 and 0.04


@pytest.mark.parametrize(("cells", "rounds"), rest_in_ci([(1, 2), (2, 2), (2, 3)], every_day=1))
def test_few_cells_are_not_counted_twice(cells: int, rounds: int) -> None:
    wrong, held, _ = tables(cells, rounds, 0.05, 150, seed=9, calm=0.05)
    assert wrong <= 0.07 and held >= 0.91  # two standard errors: 0.036


@pytest.mark.ci
def test_a_cell_that_differs_between_runs_by_more_than_the_others_is_held_to_its_own_runs() -> None:
    wrong, held, found = tables(8, 3, 0.02, 100, seed=10, between=0.05, others=8)
    assert wrong <= 0.07 and held >= 0.85 and found >= 0.7  # eight runs say little of what runs differ by


def test_of_one_cell_two_rounds_have_two_degrees_of_freedom() -> None:
    a, b = ([step(1, r, x) for r, x in enumerate(xs)] for xs in ((1000.0, 1020.0), (900.0, 925.0)))
    (cell,) = compared(by_cell(a), by_cell(b))
    logs = [[math.log(s.iops) for s in side] for side in (a, b)]
    error = math.sqrt(sum((x - y) ** 2 / 2 for x, y in logs) / 2)
    assert cell.iops.high is not None
    assert math.log(cell.iops.high / cell.iops.value) == pytest.approx(4.303 * error, rel=0.02)


def test_a_small_change_is_not_told_where_what_runs_differ_by_is_only_learnt() -> None:
    rng = random.Random(11)
    a, b = run(rng, 0.002, lambda c: 1), run(rng, 0.002, lambda c: 0.957)
    others = [[1000.0 * math.exp(rng.gauss(0, 0.002))] for _ in range(12)]
    told = compare_cells(a, b, {}, history=lambda names: [others for _ in names])
    assert (told.between_runs, told.learnt_from) == (pytest.approx(0.002, rel=0.6), 12)
    assert {c.verdict for c in told.cells} <= {Change.CANNOT_TELL, Change.EQUIVALENT}


def test_of_many_cells_only_the_history_of_those_that_stand_out_is_read_beside_a_few() -> None:
    rng = random.Random(12)
    a, b = run(rng, 0.01, lambda c: 1, cells=200), run(rng, 0.01, lambda c: 0.7 if c == 42 else 1, cells=200)
    asked: list[str] = []

    def history(names: Sequence[str]) -> list[list[list[float]]]:
        asked.extend(names)
        return [
            [[1000 * math.exp(rng.gauss(0, 0.25 if name.endswith("qd42") else 0.01))] for _ in range(12)]
            for name in names
        ]

    told = compare_cells(a, b, {}, history=history)
    assert "disk/randread-8KiB-qd42" in asked and len(set(asked)) == len(asked) <= 50
    assert told.between_runs == pytest.approx(0.01, rel=0.3)
    assert told.cells[41].verdict is Change.CANNOT_TELL


def test_the_two_directions_agree() -> None:
    rng = random.Random(7)
    a, b = run(rng, 0.02, lambda c: 1), run(rng, 0.02, lambda c: 1 - c / 50)
    turned = {
        Change.SLOWER: Change.FASTER, Change.FASTER: Change.SLOWER, Change.EQUIVALENT: Change.EQUIVALENT,
        Change.CANNOT_TELL: Change.CANNOT_TELL,
    }  # fmt: skip
    assert [turned[c.verdict] for c in compared(a, b)] == [c.verdict for c in compared(b, a)]


def test_where_the_latency_moved() -> None:
    """A tail that doubled: the median stays, p99 moves, and the gap lies between the two tails."""
    was = tuple(1000.0 + p for p in GRID)
    now = tuple(t * (2 if p >= 90 else 1) for p, t in zip(GRID, was, strict=True))
    a = by_cell([step(1, r, 1000.0 + r, was) for r in range(3)])
    b = by_cell([step(1, r, 1000.0 + r, now) for r in range(3)])
    shifts = {s.percentile: s for s in compared(a, b)[0].shifts}
    assert shifts["50"].moved_ns.value == pytest.approx(0, abs=1e-6)
    assert shifts["99"].ratio.value == pytest.approx(2)
    assert shifts["99"].moved_ns.value == pytest.approx(1099)
    gap = compared(a, b)[0].gap
    assert gap is not None
    assert gap.a - gap.b == pytest.approx(0.12, abs=0.03)
    assert gap.at_ns < 2000


def test_a_percentile_that_the_samples_do_not_carry_is_left_out() -> None:
    times = tuple(1000.0 + p for p in GRID)
    few = by_cell([step(1, r, 1000.0 + r, times, ops=500) for r in range(3)])
    assert [s.percentile for s in compared(few, few)[0].shifts] == ["mean", "50", "90"]


def test_equal_distributions_have_no_gap_and_none_is_none() -> None:
    times = pack(1000.0 + p for p in GRID)
    equal, none, half = gaps_of([[times], [times], [times, b""]], [[times], [b""], [times]])
    assert equal is not None and equal.a == equal.b
    assert none is None
    assert half == equal
    assert gaps_of([], []) == []


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.9, 0.001]) == pytest.approx([0.9, 0.002])
    assert holm([]) == []
