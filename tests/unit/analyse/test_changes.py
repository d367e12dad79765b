"""Change points: found where they are, and rarely where there are none."""

from __future__ import annotations

import math
import random

import pytest

from strata.analyse.changes import change_points, noise_of


def series(rng: random.Random, count: int, sd: float = 0.04, r: float = 0.0) -> list[float]:
    made, e = [], rng.gauss(0, sd)
    for _ in range(count):
        made.append(1000 * math.exp(e))
        e = r * e + math.sqrt(1 - r * r) * rng.gauss(0, sd)
    return made


@pytest.mark.parametrize("r", [0.0, 0.4])
def test_a_history_without_a_change_rarely_has_one(r: float) -> None:
    rng = random.Random(round(10 * r))
    wrong = sum(bool(change_points(series(rng, 40, r=r))) for _ in range(200))
    assert wrong <= 10


def test_a_tenth_less_is_found_where_it_began() -> None:
    rng = random.Random(3)
    near = 0
    for _ in range(100):
        values = [v * (0.9 if i >= 25 else 1) for i, v in enumerate(series(rng, 40))]
        found = change_points(values)
        near += any(abs(f.index - 25) <= 2 and 0.86 < f.ratio.value < 0.94 for f in found)
    assert near >= 92


def test_two_changes_and_their_sizes() -> None:
    rng = random.Random(4)
    values = [v * (1, 0.8, 1.1)[i // 15] for i, v in enumerate(series(rng, 45, sd=0.02))]
    found = change_points(values)
    assert [f.index for f in found] == pytest.approx([15, 30], abs=1)
    assert [f.ratio.value for f in found] == pytest.approx([0.8, 1.375], rel=0.05)
    cuts = [f.index for f in found]
    assert noise_of(values, cuts) == pytest.approx(0.02, rel=0.4)


def test_a_single_spoilt_run_is_no_change() -> None:
    rng = random.Random(5)
    values = series(rng, 40, sd=0.02)
    values[20] *= 0.5
    assert change_points(values) == ()


def test_too_few_runs_and_constant_ones() -> None:
    assert change_points([1000.0, 500.0, 500.0]) == ()
    assert change_points([1000.0] * 20) == ()
    assert noise_of([1.0], []) is None
