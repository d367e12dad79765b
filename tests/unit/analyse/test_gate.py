"""The gate: both of its errors, what it says when it cannot say, and that looking early costs nothing."""

from __future__ import annotations

import math
import random

import pytest
from tiers import rest_in_ci

from strata.analyse.gate import gate_cells, overall
from strata.model.history import GateOutcome


def runs(rng: random.Random, count: int, sd: float, level: float = 1000.0) -> list[float]:
    return [level * math.exp(rng.gauss(0, sd)) for _ in range(count)]


def asked_until_told(rng: random.Random, loss: float, sd: float, baseline: int = 10) -> GateOutcome:
    """As a pipeline does: another run while the gate says that it cannot say."""
    old, new = runs(rng, baseline, sd), []
    outcome = GateOutcome.TOO_NOISY
    while outcome is GateOutcome.TOO_NOISY and len(new) < 30:
        new += runs(rng, 1, sd, 1000 * (1 - loss))
        outcome = overall(gate_cells({"disk/w": old}, {"disk/w": new}, max_loss=0.1))
    return outcome


@pytest.mark.parametrize("sd", rest_in_ci([0.03, 0.05], [0.03]))
def test_equal_runs_pass_and_a_tenth_less_is_found(sd: float) -> None:
    rng = random.Random(round(sd * 1000))
    alarms = sum(asked_until_told(rng, 0.0, sd) is GateOutcome.REGRESSION for _ in range(200))
    found = sum(asked_until_told(rng, 0.1, sd) is GateOutcome.REGRESSION for _ in range(200))
    assert alarms <= 10 and found >= 190


def test_one_noisy_run_cannot_tell_and_says_how_many_would() -> None:
    rng = random.Random(1)
    (cell,) = gate_cells({"disk/w": runs(rng, 10, 0.05)}, {"disk/w": [1000.0]}, max_loss=0.1)
    assert cell.outcome is GateOutcome.TOO_NOISY
    assert cell.runs_needed is not None and 2 <= cell.runs_needed <= 12
    assert cell.detectable is not None and cell.detectable > 0.1


def test_an_overwhelming_loss_needs_three_runs_and_one_that_a_neighbour_hit_is_no_loss() -> None:
    rng = random.Random(2)
    old = {"disk/w": runs(rng, 10, 0.05)}
    (cell,) = gate_cells(old, {"disk/w": [600.0]}, max_loss=0.1)
    assert cell.outcome is GateOutcome.TOO_NOISY and cell.runs_needed is not None and cell.runs_needed >= 3
    (cell,) = gate_cells(old, {"disk/w": [600.0, 620.0, 590.0]}, max_loss=0.1)
    assert cell.outcome is GateOutcome.REGRESSION
    (cell,) = gate_cells(old, {"disk/w": [600.0, 1000.0, 990.0]}, max_loss=0.1)
    assert cell.outcome is not GateOutcome.REGRESSION


def test_a_small_loss_is_allowed_however_certain() -> None:
    rng = random.Random(3)
    old, new = runs(rng, 10, 0.005), runs(rng, 5, 0.005, 970)
    (cell,) = gate_cells({"disk/w": old}, {"disk/w": new}, max_loss=0.1)
    assert cell.p < 0.01 and cell.outcome is GateOutcome.FINE


def test_a_gain_passes() -> None:
    rng = random.Random(4)
    (cell,) = gate_cells({"disk/w": runs(rng, 10, 0.01)}, {"disk/w": runs(rng, 3, 0.01, 1500)}, max_loss=0.1)
    assert cell.outcome is GateOutcome.FINE


def test_a_baseline_of_two_runs_shows_no_noise_unless_it_is_said() -> None:
    old, new = {"disk/w": [1000.0, 1001.0]}, {"disk/w": [500.0] * 3}
    assert overall(gate_cells(old, new, max_loss=0.1)) is GateOutcome.TOO_NOISY
    assert overall(gate_cells(old, new, max_loss=0.1, noise=0.03)) is GateOutcome.REGRESSION


def test_one_cell_of_three_and_three_runs_has_four_degrees_of_freedom() -> None:
    old, new = [1000.0, 1020.0, 1045.0], [980.0, 1000.0, 1022.0]
    (cell,) = gate_cells({"disk/w": old}, {"disk/w": new}, max_loss=0.1)
    assert cell.ratio.high is not None
    error = cell.noise * math.sqrt(2 / 3)
    assert math.log(cell.ratio.high / cell.ratio.value) == pytest.approx(2.776 * error, rel=1e-3)


def test_one_bad_cell_of_many_is_the_one_that_is_named() -> None:
    rng = random.Random(5)
    names = [f"disk/w{i}" for i in range(40)]
    old = {n: runs(rng, 10, 0.02) for n in names}
    new = {n: runs(rng, 5, 0.02, 880 if n == "disk/w7" else 1000) for n in names}
    cells = gate_cells(old, new, max_loss=0.1)
    assert [c.name for c in cells if c.outcome is GateOutcome.REGRESSION] == ["disk/w7"]
    assert overall(cells) is GateOutcome.REGRESSION


def test_what_was_not_measured_never_passes() -> None:
    old = {"disk/a": [1000.0] * 10}
    fine = gate_cells(old, {"disk/a": [1000.0] * 3}, max_loss=0.1)
    worse = gate_cells(old, {"disk/a": [500.0] * 3}, max_loss=0.1)
    assert overall(fine) is GateOutcome.FINE
    assert overall(fine, ["disk/b"]) is GateOutcome.TOO_NOISY
    assert overall(worse, ["disk/b"]) is GateOutcome.REGRESSION


def test_nothing_in_common_cannot_be_told() -> None:
    assert overall(gate_cells({"a/w": [1.0]}, {"b/w": [1.0]}, max_loss=0.1)) is GateOutcome.TOO_NOISY
