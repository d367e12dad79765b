"""Many fits at once against scipy's, which makes them one by one."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import least_squares
from tiers import rest_in_ci

from strata.analyse.scaling.least import least_each
from strata.analyse.scaling.plateau import Plateau, fit_plateau_each
from strata.analyse.scaling.usl import Usl, fit_usl_each

N = np.array([1, 2, 4, 8, 16, 32, 64, 128.0])
CURVES = (
    Usl(0.0, 0.0, 1e4), Usl(0.0, 1e-5, 1e4), Usl(0.3, 0.0, 1e4), Usl(0.02, 1e-3, 1e4), Plateau(1e4, 3e4, 25.0),
    Plateau(1e4, 2e5, 2.0), Plateau(1e4, 5e6, 1.0),
)  # fmt: skip


@pytest.mark.parametrize("truth", rest_in_ci(CURVES, every_day=3), ids=repr)
def test_no_fit_leaves_more_than_scipys(truth: Usl | Plateau) -> None:
    """From the same start, within the same bounds: those of one curve are where its parameters have a meaning."""
    rng = np.random.default_rng(6)
    rates = truth.rates(N) * np.exp(0.02 * rng.standard_normal((40, len(N))))
    errors = 0.01 * rates
    if isinstance(truth, Usl):
        _, left = fit_usl_each(N, rates, errors, [truth] * len(rates))
        bounds = ([0.0, 0.0, 1e-9], [1.0, np.inf, np.inf])
        theirs = [
            least_squares(
                lambda p, x=x, e=e: (Usl(p[0], p[1], p[2] * 1e4).rates(N) - x) / e,
                np.clip([truth.contention, truth.crosstalk, 1.0], *bounds), bounds=bounds, x_scale="jac", xtol=1e-12,
                ftol=1e-12, gtol=1e-12,
            )
            for x, e in zip(rates, errors, strict=True)
        ]  # fmt: skip
    else:
        _, left = fit_plateau_each(N, rates, errors, [truth] * len(rates))
        start = np.log([truth.alone, truth.limit, truth.sharpness])
        theirs = [
            least_squares(
                lambda p, x=x, e=e: (Plateau(*np.exp(p)).rates(N) - x) / e, start,
                bounds=(start - 3, np.add(start, (3, 3, np.log(30 / truth.sharpness)))), x_scale="jac", xtol=1e-12,
                ftol=1e-12, gtol=1e-12,
            )
            for x, e in zip(rates, errors, strict=True)
        ]  # fmt: skip
    assert np.all(left <= 2 * np.array([one.cost for one in theirs]) * (1 + 1e-6))


def test_a_parameter_rests_at_its_bound_and_the_others_go_on() -> None:
    """(p₀ − 2)² + (p₁ − 3)² with p₀ at most 1, and a series that is at its minimum already."""

    def model(p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return p - [2.0, 3.0], np.tile(np.eye(2), (len(p), 1, 1))

    found, left = least_each(model, np.array([[0.0, 0.0], [1.0, 3.0]]), ((0.0, 0.0), (1.0, 9.0)))
    assert found == pytest.approx(np.array([[1.0, 3.0], [1.0, 3.0]]), abs=1e-9)
    assert left == pytest.approx([1.0, 1.0])
