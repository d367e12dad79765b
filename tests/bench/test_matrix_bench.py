"""The small form of `make bench-matrix`: on tables of a known truth the bars of 1/20 of the time are met."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from matrixbench import simulated
from matrixbench.known import CLASSES, MEDIA, Medium, Noise
from matrixbench.rows import row_of, table

FLASH, SATA, DISK = MEDIA
QUIET, TYPICAL, _ = CLASSES
TWENTIETH = 280 * 60 / 20


@cache
def measured(medium: Medium, noise: Noise) -> simulated.Outcome:
    return simulated.matrix(medium, noise, TWENTIETH, seed=11)


@pytest.mark.parametrize(("medium", "noise"), [(FLASH, TYPICAL), (SATA, QUIET), (DISK, TYPICAL)], ids=lambda x: x.name)
def test_280_cells_in_a_twentieth_of_the_time(medium: Medium, noise: Noise) -> None:
    done = measured(medium, noise)
    assert done.spent_s <= TWENTIETH + 5
    assert float(np.median(done.errors)) <= 0.01
    assert float(np.quantile(done.errors, 0.95)) <= 0.04
    # Of 280 intervals at 95 % fewer than 252 hold in one of ten thousand tables.
    assert float(done.covered.mean()) >= 0.90


def test_smoothing_is_worth_it_and_does_not_take_kinks_away() -> None:
    done = measured(DISK, TYPICAL)
    assert float(np.quantile(done.errors, 0.95)) < 0.8 * float(np.quantile(done.raw, 0.95))
    plain = simulated.fixed(DISK, TYPICAL, 3.0, seed=11)
    assert float(np.median(done.errors)) < float(np.median(plain))


def test_a_missed_bar_is_marked_and_a_held_one_is_not() -> None:
    good = row_of("a", "p", 1.0, [0.001] * 20, coverage=0.95, bar="twentieth")
    bad = row_of("b", "p", 1.0, [0.001] * 10 + [0.2] * 10, coverage=0.95, bar="twentieth")
    uncovered = row_of("c", "p", 1.0, [0.001] * 20, coverage=0.80, bar="fifth")
    assert good.holds and not bad.holds and not uncovered.holds
    assert table([good, bad]).count("**missed**") == 1
