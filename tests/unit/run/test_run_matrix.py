"""The matrix as a state machine: what it asks for, in which order, when it ends, and that it goes on where it was."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from tiers import rest_in_ci

from strata.analyse.matrix.starts import Spot
from strata.analyse.visit import visit_from
from strata.model.matrix import Known
from strata.run.matrix import Ask, Matrix

Measure = Callable[[Matrix, Ask], None]

START_S = 0.1
SPOTS = [
    Spot(layer, pattern, d, s)
    for pattern in (0, 1)
    for d in (1, 4, 16)
    for s in (4096, 16384, 65536)
    for layer in (0, 1)
]
WRITES = [s.pattern == 1 for s in SPOTS]
ORDER = [i // 2 for i in range(len(SPOTS))]


def matrix(budget_s: float = 120.0, target: float = 0.01, **more: object) -> Matrix:
    return Matrix(SPOTS, WRITES, ORDER, budget_s, target, start_s=START_S, **more)  # type: ignore[arg-type]


def measurer(sd: float = 0.02, seed: int = 1) -> Measure:
    rng = np.random.default_rng(seed)

    def measure(m: Matrix, ask: Ask) -> None:
        spot = SPOTS[ask.cell]
        rates = (
            1e9 * spot.depth**0.5 / (spot.size + 2e4) * (1 + sd * rng.normal(size=max(8, round(ask.seconds / 0.05))))
        )
        m.took(ask.cell, visit_from(ask.cell, rates, 0.05), ask.seconds, ask.seconds + START_S)

    return measure


def carry_out(m: Matrix, measure: Measure, most: int = 10_000) -> list[Ask]:
    done: list[Ask] = []
    for batch in (m.begin, m.brief):
        for ask in batch():
            measure(m, ask)
            done.append(ask)
    while (asks := m.more()) and len(done) < most:
        for ask in asks:
            measure(m, ask)
            done.append(ask)
    return done


def test_the_floor_comes_first_then_every_cell_then_what_pays() -> None:
    m = matrix()
    done = carry_out(m, measurer())
    why = [a.why for a in done]
    assert why[0] == "floor" and why.index("brief") == why.count("floor")
    assert {a.cell for a in done} == set(range(len(SPOTS)))
    brief = [a for a in done if a.why == "brief"]
    assert len({a.cell for a in brief}) == len(brief)
    floor = {a.cell for a in done if a.why == "floor"}
    assert not floor & {a.cell for a in brief}
    assert all(a.seconds <= 2.0 for a in brief)
    assert [p.known_from for p in m.predictions] == [Known.FLOOR, Known.BRIEF]


def test_reads_come_before_writes_and_layers_stand_next_to_each_other() -> None:
    m = matrix()
    measure = measurer()
    for ask in m.begin():
        measure(m, ask)
    for batch in (m.brief(), m.more()):
        writes = [WRITES[a.cell] for a in batch]
        assert writes == sorted(writes)
    brief = matrix(seed=3).brief()
    pairs = [(ORDER[a.cell], ORDER[b.cell]) for a, b in zip(brief[::2], brief[1::2], strict=True)]
    assert all(a == b for a, b in pairs)
    assert [a.cell for a in brief] != [a.cell for a in matrix(seed=4).brief()]


def test_it_ends_when_every_cell_is_within_the_target_or_the_budget_is_used_up() -> None:
    quick = matrix(budget_s=600.0, target=0.03)
    carry_out(quick, measurer(sd=0.005))
    assert quick.ended == "precision" and quick.spent_s < 120
    assert all(c.half is not None and c.half <= 0.03 for c in quick.table())
    noisy = matrix(budget_s=90.0, target=0.001)
    carry_out(noisy, measurer(sd=0.3))
    assert noisy.ended == "budget" and 80 < noisy.spent_s <= 91


def test_precision_is_not_believed_before_a_third_of_the_cells_were_visited_twice() -> None:
    m = matrix(budget_s=600.0, target=0.2)
    carry_out(m, measurer(sd=0.005))
    twice = sum(c.own is not None and c.own.visits > 1 for c in m.table())
    assert m.ended == "precision" and twice >= len(SPOTS) / 3
    assert m.predictions[-1].seconds_for_target == pytest.approx(m.spent_s, rel=0.25)


@pytest.mark.ci
def test_intervals_hold_where_cells_of_one_kind_differ_more_from_start_to_start_than_others() -> None:
    """Shallow cells by 2 %, deep ones by 0.05 %, as of an endpoint whose limit hides the way to it."""
    held = 0.0
    for seed in range(1, 9):
        m, rng = matrix(budget_s=150.0, seed=seed), np.random.default_rng(seed)
        steady = measurer(sd=0.003, seed=seed)

        def measure(m: Matrix, ask: Ask, rng: np.random.Generator = rng, steady: Measure = steady) -> None:
            steady(m, ask)
            last = m.visits[-1]
            away = math.exp(rng.normal(0, 0.02 if SPOTS[ask.cell].depth <= 4 else 0.0005))
            m.visits[-1] = visit_from(ask.cell, last.rates * away, last.bin_s)

        carry_out(m, measure)
        truth = [math.log(1e9 * s.depth**0.5 / (s.size + 2e4)) for s in SPOTS]
        held += np.mean([abs((c.level or 0) - t) <= (c.half or 0) for c, t in zip(m.table(), truth, strict=True)])
    assert held / 8 >= 0.9


@pytest.mark.parametrize("seed", rest_in_ci([1, 2, 3], every_day=1))
def test_what_ended_by_precision_is_near_enough_in_the_table_that_is_reported(seed: int) -> None:
    m = matrix(budget_s=4000.0, target=0.01, seed=seed)
    carry_out(m, measurer(sd=0.05, seed=seed))
    assert m.ended == "precision"
    assert all(c.half is not None and c.half <= math.log1p(0.01) * 1.0001 for c in m.table())


def test_a_resumed_matrix_does_not_measure_again_what_it_has() -> None:
    first = matrix()
    measure = measurer()
    for ask in first.begin():
        measure(first, ask)
    half = first.brief()[:10]
    for ask in half:
        measure(first, ask)
    again = matrix(visits=list(first.visits), spent_s=first.spent_s)
    assert again.begin() == ()
    assert not {a.cell for a in again.brief()} & {v.cell for v in first.visits}
    carry_out(again, measurer(seed=2))
    assert again.spent_s <= 121


@pytest.mark.ci
def test_a_cell_that_fails_twice_is_left_and_the_others_go_on() -> None:
    m = matrix()
    measure = measurer()

    def failing(m: Matrix, ask: Ask) -> None:
        if ask.cell == 5:
            m.took(ask.cell, None, ask.seconds, 0.05)
        else:
            measure(m, ask)

    done = carry_out(m, failing)
    assert sum(a.cell == 5 for a in done) == 2
    assert m.table()[5].own is None and sum(c.own is not None for c in m.table()) == len(SPOTS) - 1


@pytest.mark.ci
def test_a_cell_that_fails_is_no_precision_and_one_that_is_left_out_takes_none_away() -> None:
    quick = measurer(sd=0.005)

    def failing(m: Matrix, ask: Ask) -> None:
        if ask.cell == 5:
            m.took(ask.cell, None, ask.seconds, 0.05)
        else:
            quick(m, ask)

    failed, skipped = matrix(budget_s=600.0, target=0.03), matrix(600.0, 0.03, left_out=frozenset({5}))
    carry_out(failed, failing)
    carry_out(skipped, quick)
    assert (failed.ended, skipped.ended) == ("cells that failed", "precision")


@pytest.mark.ci
def test_a_cell_that_fails_after_it_was_narrow_enough_takes_nothing_away() -> None:
    first, quick = matrix(budget_s=600.0, target=0.03), measurer(sd=0.005)
    carry_out(first, quick)
    again = matrix(600.0, 0.03, visits=list(first.visits), spent_s=first.spent_s)
    for _ in range(2):
        again.took(5, None, 1.0, 0.05)
    carry_out(again, quick)
    assert again.ended == "precision"


def test_a_cell_that_was_visited_and_then_fails_is_not_asked_for_without_end() -> None:
    """As when the byte bound is reached: nothing comes back, and it takes no time."""
    m, measure = matrix(target=0.002), measurer(sd=0.05)
    refused: list[int] = []

    def bounded(m: Matrix, ask: Ask) -> None:
        if WRITES[ask.cell] and any(v.cell == ask.cell for v in m.visits):
            refused.append(ask.cell)
            m.took(ask.cell, None, ask.seconds, 0.0)
        else:
            measure(m, ask)

    carry_out(m, bounded)
    assert refused and max(refused.count(i) for i in refused) == 2
    assert all(c.own is not None for c in m.table())


def test_cells_that_are_left_out_are_never_asked_for() -> None:
    m = matrix(left_out=frozenset(i for i, w in enumerate(WRITES) if w))
    assert not any(WRITES[a.cell] for a in carry_out(m, measurer()))
    assert m.least_s < matrix().least_s


def test_a_suspect_is_visited_again_before_it_is_believed() -> None:
    m = matrix(budget_s=200.0)
    plain = measurer(sd=0.005)
    at = SPOTS.index(Spot(0, 0, 4, 16384))
    seen = 0

    def once_wrong(m: Matrix, ask: Ask) -> None:
        nonlocal seen
        if ask.cell != at:
            plain(m, ask)
            return
        seen += 1
        level = 1e9 * 2 / (16384 + 2e4) * (0.5 if seen == 1 else 1.0)
        m.took(
            at,
            visit_from(at, np.full(20, level) * (1 + 1e-3 * np.arange(20) % 2), 0.05),
            ask.seconds,
            ask.seconds + START_S,
        )

    carry_out(m, once_wrong)
    assert seen >= 3
    assert m.held_out is not None and m.held_out.error_median < 0.05
