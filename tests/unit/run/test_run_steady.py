"""When a write rate is steady, and how preconditioning goes on and ends."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from run_samples import plan

from strata.errors import RunFailed, SafetyRefusal
from strata.model.plan import Cell
from strata.model.precondition import PreconditionBudget, Preconditioned, WriteRound
from strata.model.rw import Rw
from strata.model.workload import ClosedLoop, Workload
from strata.run.preconditioner import Write, Wrote, precondition, steadiness

CELL = Cell(layer="file", workload=Workload(rw=Rw.RANDWRITE, bs=4096, arrival=ClosedLoop(iodepth=8)))
BUDGET = PreconditionBudget(seconds_max=10.0, bytes_max=10_000, round_s=1.0)


@pytest.mark.parametrize(
    ("rates", "steady"),
    [
        ([100, 100, 100, 100, 100], True),
        ([900, 500, 100, 100, 100, 100, 100], True),
        # Exactly at the limits: max - min is 20 % of the mean; the line rises by 10 % of it.
        ([90, 110, 100, 110, 90], True),
        ([95, 97.5, 100, 102.5, 105], True),
        # Just beyond one limit, within the other.
        ([89.9, 110, 100, 110, 90], False),
        ([94, 97, 100, 103, 106], False),
        ([106, 103, 100, 97, 94], False),
        ([500, 100, 100, 100, 100], False),
    ],
)
def test_the_window_is_steady_within_both_limits(rates: list[float], steady: bool) -> None:
    found = steadiness(rates)
    assert found is not None
    assert found.steady is steady


@pytest.mark.parametrize("rates", [[], [100.0] * 4, [0.0] * 5])
def test_too_little_says_nothing(rates: list[float]) -> None:
    assert steadiness(rates) is None


@given(st.lists(st.floats(1, 1e9), min_size=5, max_size=5), st.floats(0.001, 1000))
def test_the_unit_does_not_matter_and_the_line_stays_in_the_spread(rates: list[float], factor: float) -> None:
    one, other = steadiness(rates), steadiness([r * factor for r in rates])
    assert one is not None and other is not None
    assert one.slope == pytest.approx(other.slope, rel=1e-6, abs=1e-9)
    # A least-squares line over five points rises by at most 1.2 times their spread.
    assert abs(one.slope) <= 1.2 * one.spread + 1e-9


def run(rates: list[float], budget: PreconditionBudget = BUDGET) -> tuple[Preconditioned, list[Write]]:
    asked: list[Write] = []

    def write(this: Write) -> Wrote:
        asked.append(this)
        done = min(this.bytes_max, int(rates[this.number] * this.seconds))
        return Wrote(WriteRound(bytes=done, seconds=done / rates[this.number]))

    return precondition(CELL, budget, write), asked


def test_it_writes_until_steady_and_no_longer() -> None:
    done, asked = run([900, 700, 500, 300, 300, 300, 300, 300, 300, 300])
    assert (done.ended, done.reached, len(asked)) == ("steady", True, 8)
    assert done.bytes_written == 900 + 700 + 500 + 5 * 300
    assert (done.layer, done.workload_key) == ("file", CELL.workload.key)


def test_time_ends_it_unsteady() -> None:
    done, asked = run([100.0 * (i % 2 + 1) for i in range(20)])
    assert (done.ended, done.reached, len(asked)) == ("time", False, 10)
    assert done.last is not None and not done.last.steady


def test_bytes_end_it_and_are_never_exceeded() -> None:
    done, asked = run([1000.0 * (i % 2 + 1) for i in range(20)])
    assert (done.ended, done.bytes_written) == ("bytes", BUDGET.bytes_max)
    assert asked[-1].bytes_max == BUDGET.bytes_max - sum(r.bytes for r in done.rounds[:-1])


@given(st.lists(st.floats(1, 5000), min_size=30, max_size=30))
def test_the_budget_holds_whatever_the_rates(rates: list[float]) -> None:
    done, _ = run(rates)
    assert done.bytes_written <= BUDGET.bytes_max
    assert done.seconds <= BUDGET.seconds_max + BUDGET.round_s


def test_a_stop_a_failure_and_nothing_written_have_names() -> None:
    def full(_: Write) -> Wrote:
        raise OSError("no space")

    stopped = precondition(CELL, BUDGET, lambda _: Wrote(WriteRound(bytes=5, seconds=0.1), cut=True))
    assert (stopped.ended, stopped.bytes_written) == ("stopped", 5)
    failed = precondition(CELL, BUDGET, full)
    assert (failed.ended, failed.error) == ("failed", "no space")
    none = precondition(CELL, BUDGET, lambda _: Wrote(WriteRound(bytes=0, seconds=1.0)))
    assert none.ended == "failed"


def test_a_run_that_fails_is_told_and_a_refusal_is_raised() -> None:
    def fails(_: Write) -> Wrote:
        raise RunFailed("cannot write to", "x", "no space")

    def refuses(_: Write) -> Wrote:
        raise SafetyRefusal("will not write to", "x", "not ours")

    assert "no space" in (precondition(CELL, BUDGET, fails).error or "")
    with pytest.raises(SafetyRefusal):
        precondition(CELL, BUDGET, refuses)


def test_old_plans_rest_and_precondition_nothing() -> None:
    assert (plan().cooldown_s, plan().precondition) == (0.0, None)
