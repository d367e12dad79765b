"""What equal runs of a cell differ by, and what it takes to know it."""

from __future__ import annotations

import math
import random

import pytest

from strata.analyse.between import FEWEST, Learnt, between_of


def runs(rng: random.Random, count: int, between: float, within: float, rounds: int = 3) -> list[list[float]]:
    levels = [rng.gauss(0, between) for _ in range(count)]
    return [[1000 * math.exp(x + rng.gauss(0, within)) for _ in range(rounds)] for x in levels]


def test_it_is_what_the_rounds_do_not_explain() -> None:
    rng = random.Random(1)
    found = between_of(runs(rng, 80, 0.03, 0.03))
    assert found is not None and found.runs == 80 and found.sd == pytest.approx(0.03, rel=0.25)
    none = between_of(runs(rng, 80, 0.0, 0.03))
    assert none is not None and none.sd < 0.01


def test_a_change_of_level_is_not_between_equal_runs() -> None:
    rng = random.Random(2)
    found = between_of([[x * 0.6 for x in run] for run in runs(rng, 12, 0.02, 0.01)] + runs(rng, 10, 0.02, 0.01))
    assert found is not None and found.runs == 10 and found.sd == pytest.approx(0.02, rel=0.6)


def test_few_runs_say_nothing() -> None:
    rng = random.Random(3)
    assert between_of([]) is None
    assert between_of(runs(rng, FEWEST - 1, 0.02, 0.01)) is None
    assert between_of(runs(rng, FEWEST, 0.02, 0.01, rounds=1)) is not None


def test_a_cell_has_its_own_noise_and_no_less_than_the_others() -> None:
    rng = random.Random(4)
    sds = {"a": 0.01, "b": 0.01, "noisy": 0.2, "quiet": 0.0, "new": 0.01}
    learnt = Learnt(
        list(sds), lambda names: [runs(rng, 3 if name == "new" else 20, sds[name], 0.001) for name in names]
    )
    sd, df = learnt.rows()
    assert learnt.pool == pytest.approx(0.01, rel=0.5) and learnt.runs == 20
    assert sd[2] == pytest.approx(0.2, rel=0.5)
    assert sd[3] == sd[4] == learnt.pool and set(df) == {19.0}
    assert not learnt.look_at([0, 2])


def test_without_any_history_nothing_is_known() -> None:
    learnt = Learnt(["a", "b"], lambda names: [[] for _ in names])
    assert learnt.pool is None and learnt.runs is None and list(learnt.rows()[0]) == [0.0, 0.0]
