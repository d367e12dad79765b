"""Many rows at once: no row is known better than its own values say, and none is its own witness."""

from __future__ import annotations

import math

import numpy as np
import pytest

from strata.analyse.rows import Pool, located, pooled, spread, steadied
from strata.analyse.stats import OWN_LEVEL, centre, t_quantile

KNOWN = Pool(0.02**2, math.inf)


def halves(rows: np.ndarray, shared: Pool) -> tuple[np.ndarray, np.ndarray]:
    """(locations, half-widths of their 95 % intervals)."""
    at = located(rows, shared)
    noise = steadied([at], shared)
    return at.at, np.array([t_quantile(df) for df in noise.df]) * noise.error(1 / at.n)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 8])
def test_no_interval_is_narrower_than_the_rows_own_values_carry(n: int) -> None:
    rows = np.random.default_rng(n).normal(0, 0.06, (200, n))
    _, half = halves(rows, KNOWN)
    alone = t_quantile(n - 1, OWN_LEVEL if n < 5 else 0.95) * np.std(rows, axis=1, ddof=1) / math.sqrt(n)
    gross = np.max(np.abs(rows - np.median(rows, axis=1)[:, None]), axis=1) > 6 * 0.02
    assert np.all((half >= alone - 1e-12) | gross)


def test_calm_rows_have_the_interval_that_one_cell_has() -> None:
    rows = np.random.default_rng(1).normal(0, 0.01, (50, 4))
    at, half = halves(rows, KNOWN)
    one = [centre(row.tolist(), 0.02) for row in rows]
    assert at == pytest.approx([x for x, _ in one], abs=1e-4)
    assert half == pytest.approx([h for _, h in one], rel=0.01)


def test_of_others_a_row_has_what_it_did_not_show_itself() -> None:
    rows = np.array([[0.0, 0.02, 0.04], [0.0, 0.2, 0.1]])
    sides = [located(rows, shared := pooled(*spread(rows)))]
    variance, df = shared.without(sides)
    own = spread(rows)[0]
    assert list(df) == [2.0, 2.0] and variance == pytest.approx(own[::-1])
    alone = pooled(*spread(rows[:1]))
    assert list(alone.without([located(rows[:1], alone)])[1]) == [0.0]


def test_the_typical_row_bounds_the_pool_and_one_value_shows_nothing() -> None:
    rng = np.random.default_rng(2)
    quiet = rng.normal(0, 0.01, (400, 2))
    assert pooled(*spread(quiet)).variance == pytest.approx(0.01**2, rel=0.25)
    assert math.isnan(pooled(*spread(quiet[:, :1])).variance)
