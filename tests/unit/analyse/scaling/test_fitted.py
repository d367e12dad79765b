"""Which curve a series lies on, the knee of it, and what is refused."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from strata.analyse.scaling.fitted import Fitted, Form, LoadPoint, NoCurve, fitted
from strata.analyse.scaling.knee import knee, worth_doubling
from strata.analyse.scaling.plateau import Plateau
from strata.analyse.scaling.usl import Usl

LOADS = (1, 2, 4, 8, 16, 32, 64)


def points(rates: Sequence[float], error: float = 0.01, loads: Sequence[float] = LOADS) -> list[LoadPoint]:
    return [LoadPoint(n, x, error) for n, x in zip(loads, rates, strict=True)]


def capped(alone: float, limit: float, noise: float = 0.01, seed: int = 1) -> list[float]:
    rng = np.random.default_rng(seed)
    return [min(n * alone, limit) * float(np.exp(noise * rng.standard_normal())) for n in LOADS]


def of(found: Fitted | NoCurve) -> Fitted:
    assert isinstance(found, Fitted), found
    return found


@pytest.mark.parametrize("limit", [1000.0, 2900.0, 7000.0])
def test_a_cap_is_a_plateau_with_its_knee_at_the_corner(limit: float) -> None:
    found = of(fitted(points(capped(250.0, limit))))
    assert found.form is Form.PLATEAU
    at, most = found.knee(), found.limit()
    assert at is not None and at.value == pytest.approx(limit / 250, rel=0.06)
    assert most is not None and most.value == pytest.approx(limit, rel=0.03)


def test_a_law_with_a_maximum_is_told_as_that() -> None:
    law = Usl(0.03, 0.002, 5000.0)
    found = of(fitted(points([float(x) for x in law.rates(np.array(LOADS, dtype=float))])))
    assert found.form is Form.USL
    most, at = found.limit(), found.limit_at()
    assert most is not None and most.value == pytest.approx(law.most, rel=0.02)
    assert at is not None and at.value == pytest.approx(law.most_at, rel=0.05)


@pytest.mark.ci
def test_intervals_cover_the_limit_and_the_knee() -> None:
    """Of 60 series of seven points with noise of 2 %, nominal 95 %: at least 85 % of either."""
    held = {"knee": 0, "limit": 0}
    for seed in range(60):
        found = of(fitted(points(capped(250.0, 3000.0, 0.02, seed), 0.02), seed=seed, draws=40))
        for name, truth in (("knee", 12.0), ("limit", 3000.0)):
            e = getattr(found, name)()
            held[name] += e.low <= truth <= e.high
    assert min(held.values()) >= 51, held


@pytest.mark.parametrize(
    ("series", "why"),
    [
        (points([100, 200, 400, 800], loads=(1, 2, 4, 8)), "too few"),
        (points([100, 150, 190, 220, 250], loads=(10, 12, 14, 16, 18)), "1.8 times the smallest"),
        (points([100, 200, 90, 500, 100, 600, 200]), "deviate from the nearest curve"),
        (points([100, 300, 900, 2700, 8100, 24300, 72900]), "more than linear"),
        ([], "too few"),
    ],
)
def test_what_no_curve_draws_is_refused_with_a_reason(series: list[LoadPoint], why: str) -> None:
    found = fitted(series)
    assert isinstance(found, NoCurve) and why in found.why


def test_a_knee_that_was_not_reached_has_no_value() -> None:
    found = of(fitted(points([100.0 * n for n in LOADS], 0.003)))
    assert found.knee() is None and found.worth_doubling(0.2) is None


def test_the_knee_is_the_load_of_the_greatest_power() -> None:
    law = Usl(0.05, 0.001, 100.0)
    grid = np.geomspace(1, 500, 20000)
    power = law.rates(grid) ** 2 / grid
    assert knee(law, 1, 500) == pytest.approx(float(grid[int(np.argmax(power))]), rel=1e-3)
    assert knee(Plateau(100.0, 1200.0, 30.0), 1, 500) == pytest.approx(12.0, rel=1e-3)


def test_a_doubling_is_worth_it_until_it_gains_the_stated_share() -> None:
    law = Usl(0.05, 0.001, 100.0)
    at = worth_doubling(law, 0.2, 1, 500)
    assert at is not None and law.rate(2 * at) / law.rate(at) == pytest.approx(1.2, rel=1e-3)


@pytest.mark.parametrize(
    "curve",
    [
        Usl(0.05, 0.001, 100.0), Usl(0.0, 0.01, 3.0), Usl(0.3, 0.0, 3.0), Usl(0.02, 1e-13, 3.0), Usl(0.001, 0.2, 3.0),
        Plateau(100.0, 1200.0, 30.0), Plateau(5.0, 1200.0, 0.5), Plateau(100.0, 1200.0, 1.0),
    ],
)  # fmt: skip
def test_both_loads_are_where_the_rates_themselves_say(curve: Usl | Plateau) -> None:
    """From the rates on either side, not from the formulas."""
    at = knee(curve, 1e-3, 1e9)
    assert at is not None
    more, less = curve.rate(at * 1.001), curve.rate(at / 1.001)
    assert math.log(more / less) / (2 * math.log(1.001)) == pytest.approx(0.5, rel=1e-3)
    for share in (0.05, 0.2, 0.5):
        at = worth_doubling(curve, share, 1e-3, 1e12)
        assert at is not None and curve.rate(2 * at) / curve.rate(at) - 1 == pytest.approx(share, rel=1e-6)


def test_a_curve_that_is_past_it_from_the_start_and_one_that_never_is() -> None:
    assert knee(Usl(1.0, 0.0, 3.0), 2, 500) == 2 and worth_doubling(Usl(1.0, 0.0, 3.0), 0.2, 2, 500) == 2
    assert knee(Usl(0.0, 0.0, 3.0), 1, 500) is None and worth_doubling(Usl(0.0, 0.0, 3.0), 0.2, 1, 500) is None
    assert (
        knee(Plateau(1.0, 600.0, 2.0), 1, 500) is None and worth_doubling(Plateau(1.0, 6e6, 2.0), 0.2, 1, 500) is None
    )


def test_points_that_say_nothing_break_no_fit() -> None:
    """A busy machine gives intervals of hundreds of per cent."""
    wild = [LoadPoint(n, min(250.0 * n, 2000.0), 800.0 if n > 2 else 0.02) for n in (1, 2, 4, 8, 16, 32)]
    found = fitted(wild, draws=100)
    assert isinstance(found, Fitted)
    limit = found.limit()
    assert limit is not None and limit.low is not None and limit.low < 2000


def test_another_question_to_the_same_points_does_not_fit_them_again() -> None:
    """A reader moves a slider of `strata serve`, and the curve of his sweep stays the one it was."""
    there = points(capped(250.0, 2900.0))
    assert fitted(there) is fitted(list(reversed(there)))
    assert fitted(there) is not fitted(there, seed=2)
