"""What is measured again after every cell was looked at: the cells that cannot be told and matter, within bounds."""

from __future__ import annotations

import math
from types import MethodType, SimpleNamespace
from typing import TYPE_CHECKING, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strata.analyse.overall import beyond_chance, doubted, likeliest
from strata.analyse.stats import PRIOR_DF
from strata.app.experiment import ROUNDS as OF_EXPERIMENT
from strata.app.experiment import _may_write, _rounds_first
from strata.app.further import DETAIL_SHARE, LEAST_SHARE, Budget, _measured, fastest_writes
from strata.app.plan import experiment_plan, experiment_round
from strata.app.runner import Runner
from strata.errors import RunFailed
from strata.model.analysis import Analysis, Comparison, Equivalence
from strata.model.estimate import Estimate
from strata.model.experiment import Experiment, Prediction
from strata.model.finding import Diagnosis, VerdictKind
from strata.model.groups import grouped
from strata.model.plan import Cell, Plan, Step, StepKind
from strata.model.result import CellResult, EngineResult
from strata.model.stack import Layer, Stack
from strata.model.workload import Sync, Workload
from strata.plan.detail import AT_STAKE, ROUNDS_LAST, ROUNDS_MOST, further_round
from strata.plan.expand import Schedule, expand
from strata.plan.screening import LEAST_S, MOST_S, RAMP_S, ROUNDS, SCREENING_S, START_S, lengths
from strata.plan.workloads import DIAGNOSE
from strata.run.machine import ProgressTracker
from strata.units import MIB

if TYPE_CHECKING:
    from strata.app.session import Session

KEYS = [w.key for w in DIAGNOSE]


def planned(layers: int = 3, further_s: float = 90.0) -> Plan:
    stack = Stack(name="s", layers=tuple(Layer(name=f"l{i}", endpoint="null:") for i in range(layers)))
    chosen = lengths(layers * len(DIAGNOSE))._asdict()
    schedule = Schedule(**chosen, further_s=further_s, detail=True)
    return expand(stack, DIAGNOSE, schedule, file_size=64 * MIB, seed=3)


def pair(key: str, low: float, value: float, verdict: Equivalence, layer: str = "l1", below: str = "l0") -> Comparison:
    ratio = Estimate(value=value, low=low, high=value * value / low, n=2, unit="ratio")
    return Comparison(
        layer=layer, below=below, workload_key=key, iops=ratio, latency={}, added_ns=ratio, expected_overhead=0.15,
        allowance=0.1, verdict=verdict,
    )  # fmt: skip


def seen(*pairs: Comparison) -> tuple[Comparison, ...]:
    return pairs


@given(cells=st.integers(1, 200))
def test_a_screening_is_bounded_and_its_cells_are_whole_intervals(cells: int) -> None:
    found = lengths(cells)
    assert LEAST_S <= found.runtime_s <= MOST_S
    assert found.runtime_s / found.interval_s == pytest.approx(round(found.runtime_s / found.interval_s))
    in_all = cells * found.rounds * (found.ramp_s + found.runtime_s + START_S)
    shortest = cells * ROUNDS * (RAMP_S + LEAST_S + START_S)
    assert in_all <= max(SCREENING_S + cells * ROUNDS * found.interval_s / 2, shortest) + 1e-6


def test_only_what_cannot_be_told_and_matters_is_measured_again() -> None:
    cannot = Equivalence.CANNOT_TELL
    some = seen(
        pair(KEYS[0], 0.5, 0.9, cannot),  # a great loss may hide here
        pair(KEYS[1], 0.83, 0.92, cannot),  # none that is worth naming
        pair(KEYS[2], 0.2, 0.3, Equivalence.ABOVE),
        pair(KEYS[3], 0.9, 0.95, Equivalence.WITHIN),
        pair(KEYS[4], AT_STAKE + 0.01, 0.88, cannot),  # its best estimate lies below the line
    )
    plan = planned()
    steps = further_round(plan, some, 60.0)
    assert {s.cell for s in steps} == {f"{layer}/{key}" for layer in ("l0", "l1") for key in (KEYS[0], KEYS[4])}
    assert [s.order for s in steps] == list(range(len(plan.steps), len(plan.steps) + 4))
    assert {s.round for s in steps} == {plan.rounds}, "both sides of a ratio are of one round"
    assert further_round(plan, some, 60.0) == steps, "the same again: a resumed run has the same plan"


def test_a_further_round_fits_the_time_and_takes_the_likeliest_loss_first() -> None:
    cannot = Equivalence.CANNOT_TELL
    # That an interval reaches low, because it is wide, tells least.
    some = likeliest([pair(key, 0.3 + n / 20, 0.8, cannot) for n, key in enumerate(KEYS)])
    plan = planned()
    steps = further_round(plan, some, 4.5 * plan.step_s)
    assert {s.cell.partition("/")[2] for s in steps} == set(KEYS[-2:])
    assert further_round(plan, some, plan.step_s) == ()


def test_what_chance_may_have_put_below_its_line_is_measured_again_and_what_no_such_cell_tells_is_not() -> None:
    many = [pair(key, 0.9, 0.97, Equivalence.WITHIN) for key in KEYS[1:]]
    plan, surely = planned(), [pair(KEYS[0], 0.60, 0.62, Equivalence.ABOVE), *many]
    slow = pair(KEYS[0], 0.45, 0.6, Equivalence.ABOVE)
    assert doubted(surely) == () and doubted([slow, *many]) == (slow,)
    assert {s.cell for s in further_round(plan, many, 60.0, doubted=[slow])} == {f"l0/{KEYS[0]}", f"l1/{KEYS[0]}"}
    assert further_round(plan, many, 60.0, doubted=[slow.model_copy(update={"unserved": True})]) == ()
    hidden = pair(KEYS[1], 0.1, 0.5, Equivalence.CANNOT_TELL).model_copy(update={"unserved": True})
    assert further_round(plan, [hidden], 60.0) == ()


@pytest.mark.parametrize(
    ("kind", "said", "about", "first"),
    [
        (VerdictKind.INCONCLUSIVE, (), "l0", True),  # the medium's own limit tells nothing of the layer above
        (VerdictKind.INCONCLUSIVE, (), "l1", False),
        (VerdictKind.LAYER, ("l2",), "l2", False),
        (VerdictKind.INCONCLUSIVE, ("l2",), "l2", False),
        (VerdictKind.INCONCLUSIVE, ("l2",), "l0", True),
        (VerdictKind.LAYER, ("l2",), None, True),
        (VerdictKind.LAYER, ("l1",), None, False),
        (VerdictKind.INCONCLUSIVE, ("l1",), None, True),
    ],
)
def test_rounds_come_before_what_is_about_another_layer_only_where_nobody_is_blamed(
    kind: VerdictKind, said: tuple[str, ...], about: str | None, first: bool
) -> None:
    slow = pair(KEYS[0], 0.45, 0.6, Equivalence.ABOVE)
    seen_so = SimpleNamespace(comparisons=[slow, *(pair(key, 0.9, 0.97, Equivalence.WITHIN) for key in KEYS[1:])])
    told = SimpleNamespace(
        findings=[SimpleNamespace(layer=layer) for layer in said], verdict=SimpleNamespace(kind=kind)
    )
    # It may be measured at another layer than it is about: two threads on the one below.
    experiment = about and SimpleNamespace(layer="l0", predictions=[SimpleNamespace(layer=about)])
    asked = (cast("Analysis", seen_so), cast("Diagnosis", told), cast("Experiment | None", experiment))
    assert _rounds_first(*asked) is first


def test_what_has_no_interval_yet_comes_before_the_likeliest_loss() -> None:
    slow, fine = pair(KEYS[0], 0.45, 0.6, Equivalence.ABOVE), pair(KEYS[1], 0.9, 0.97, Equivalence.WITHIN)
    untold = pair(KEYS[2], 0.5, 0.9, Equivalence.CANNOT_TELL)
    untold = untold.model_copy(update={"iops": untold.iops.model_copy(update={"low": None, "high": None})})
    stopped = untold.model_copy(update={"iops": untold.iops.model_copy(update={"value": 0.0, "low": 0.0})})
    assert likeliest([fine, slow, untold]) == [untold, slow, fine]
    assert likeliest([fine, stopped]) == [stopped, fine], "a layer that gave nothing has no logarithm"


def test_layers_on_their_very_line_are_slow_beyond_chance_in_one_run_of_thirty_at_most() -> None:
    """The worst case of equal layers: every ratio on its line, as wrong as its own interval says (Student's t of its
    degrees of freedom)."""
    chance, blamed, runs = np.random.default_rng(5), 0, 400
    line = pair(KEYS[0], 0.5, 0.9, Equivalence.CANNOT_TELL).line
    for _ in range(runs):
        every = []
        for n in range(5):
            for key, t in zip(KEYS, chance.standard_t(PRIOR_DF + 1, len(KEYS)), strict=True):
                value = line * math.exp(0.15 * t)
                every.append(pair(key, value * math.exp(-0.3), value, Equivalence.CANNOT_TELL, layer=f"l{n}"))
        for some in grouped((c.layer, c) for c in every).values():
            slow = [c for c in some if c.iops.high is not None and c.iops.high < c.line]
            blamed += bool(slow) and beyond_chance(slow, len(some), every)
    assert blamed <= 0.03 * runs


def test_no_cell_is_measured_for_ever() -> None:
    some = seen(pair(KEYS[0], 0.5, 0.9, Equivalence.CANNOT_TELL))
    plan, added = planned(), 0
    while steps := further_round(plan, some, 1e9):
        plan = plan.model_copy(update={"steps": (*plan.steps, *steps)})
        added += 1
    assert added == ROUNDS_MOST - ROUNDS
    assert further_round(plan, some, 1e9, most=ROUNDS_LAST)


def result_of(plan: Plan, kind: StepKind, round_: int, order: int) -> CellResult:
    cell = plan.cells[0]
    return CellResult(
        order=order, round=round_, cell=cell.key, kind=kind.value, layer=cell.layer, workload_key=cell.workload.key,
        result=None,
    )  # fmt: skip


def test_what_was_paid_before_a_stop_is_not_there_again() -> None:
    plan = planned()
    fresh = Budget(plan, ())
    kept = [result_of(plan, StepKind.MEASURE, 0, 0), result_of(plan, StepKind.MEASURE, plan.rounds, 90)]
    kept += [result_of(plan, StepKind.CONFIRM, 0, 91)]
    assert Budget(plan, kept).seconds_left == pytest.approx(fresh.seconds_left - 2 * plan.step_s, abs=0.1)
    assert fresh.detail_left == pytest.approx(DETAIL_SHARE * 90.0, abs=0.1)


def test_a_long_screening_leaves_less_and_never_nothing() -> None:
    plan = planned()
    assert plan.further is not None
    ending = plan.model_copy(update={"further": plan.further.model_copy(update={"whole_s": 160.0})})
    left = [Budget(ending, (), elapsed).seconds_left for elapsed in (30.0, 100.0, 1000.0)]
    assert left == [pytest.approx(90), pytest.approx(60), pytest.approx(LEAST_SHARE * 90)]
    assert Budget(plan, (), 1000.0).seconds_left == pytest.approx(90), "who says a budget gets it"


def test_without_experiments_all_of_it_is_for_further_rounds() -> None:
    assert Budget(planned(), (), confirm=False).detail_left == pytest.approx(90.0)


def test_further_rounds_of_a_resumed_run_come_behind_its_experiments() -> None:
    plan, some = planned(), seen(pair(KEYS[0], 0.5, 0.9, Equivalence.CANNOT_TELL))
    assert [s.order for s in further_round(plan, some, 60.0, 400)] == [400, 401]


def test_a_layer_that_is_given_up_in_a_further_round_is_said() -> None:
    first = planned()
    mine = [c.key for c in first.cells if c.layer == "l1"][:3]
    steps = tuple(Step(order=900 + n, round=first.rounds, cell=key) for n, key in enumerate(mine))
    plan = first.model_copy(update={"steps": (*first.steps, *steps)})

    def gone(step: Step, cell: Cell) -> CellResult:
        raise RunFailed("cannot connect to", cell.layer)

    session = SimpleNamespace(
        running=lambda: SimpleNamespace(plan=plan), budget=lambda: Budget(plan, ()), paid=lambda _: None,
        measure_step=gone, emit=lambda _: None, stop_requested=lambda: False,
    )  # fmt: skip
    session.carry_out = MethodType(Runner.carry_out, session)
    said: list[str] = []
    _measured(cast("Session", session), steps, lambda end: said.append(end.message))
    assert "layer l1 was given up after 3 failures in a row: cannot connect to l1" in said[0]


ASKED = Prediction(metric="ratio", low=0.5, high=2.0, unit="ratio")


def asked(plan: Plan, workload: Workload) -> Experiment:
    """An experiment with that workload as the changed one."""
    return Experiment(
        layer="l1",
        workload=workload,
        reference=plan.workloads[-1].key,
        changes="a test",
        prediction=ASKED,
        otherwise="",
    )


def test_the_time_left_of_an_experiment_is_its_own() -> None:
    plan = planned()
    own = experiment_plan(plan, asked(plan, plan.workloads[0]))
    assert own is not None and own.further is None
    batch = own.model_copy(update={"steps": experiment_round(own, asked(plan, plan.workloads[0]), 0, 7), "rounds": 1})
    assert (
        ProgressTracker(batch).seconds_left(2)
        == own.seconds
        == pytest.approx(2 * (own.ramp_s + own.runtime_s), abs=0.6)
    )


SLOW = EngineResult.model_validate(
    {
        "engine": {}, "effective": {}, "started_unix_ns": 0, "ramp_ns": 0, "measured_ns": 10**9, "stop_reason": "time",
        "issued": 10, "completed": 10, "errored": 0, "stuck": 0, "intervals": (), "read": {"ops": 0, "bytes": 0},
        "write": {"ops": 10, "bytes": 40960},
    }
)  # fmt: skip
"""40 KiB in a second."""


def test_an_experiment_may_write_what_both_its_cells_together_may() -> None:
    """A changed cell that was never measured may write far more than any other did: it has no flush, perhaps."""
    plan = planned(further_s=90.0)
    assert plan.further is not None
    write = plan.workloads[-1]
    own = experiment_plan(plan, asked(plan, write.model_copy(update={"sync": Sync.NONE, "bs": 2 * write.bs})))
    assert own is not None
    reference, changed = own.cells
    kept = [result_of(plan, StepKind.MEASURE, 0, 0).model_copy(update={"cell": reference.key, "result": SLOW})]
    for share, allowed in ((0.5, False), (2.0, True)):
        most = round(share * OF_EXPERIMENT * (own.ramp_s + own.runtime_s) * plan.assumed_write_bps)
        bound = plan.model_copy(update={"further": plan.further.model_copy(update={"bytes_written": most})})
        session = SimpleNamespace(cells=lambda: kept, budget=lambda b=bound: Budget(b, kept))
        assert _may_write(cast("Session", session), own, OF_EXPERIMENT) is allowed
    assert changed.key not in fastest_writes(kept)


def test_a_plan_announces_what_may_follow_and_writing_stays_within_it() -> None:
    plan, without = planned(), planned(further_s=0)
    assert plan.seconds == without.seconds + 90 and plan.step_s == pytest.approx(without.step_s)
    assert plan.further is not None and plan.bytes_written == without.bytes_written + plan.further.bytes_written
    budget = Budget(plan, ())
    write, read = plan.workloads[-1], plan.workloads[0]
    assert budget.may_write([(read, 1e6, None)], plan), "what only reads writes nothing"
    assert budget.may_write([(write, 1.0, 1e6)], plan)
    assert not budget.may_write([(write, 1e6, 1e6)], plan)
    assert Budget(without, ()).seconds_left <= 0
    assert not Budget(without, ()).may_write([(write, 1.0, 1.0)], plan)
    most = plan.further.bytes_written / plan.assumed_write_bps
    assert budget.may_write([(write, 0.6 * most, None)], plan)
    assert not budget.may_write([(write, 0.6 * most, None)] * 2, plan), "two that fit one by one may write twice it"
    assert fastest_writes([result_of(plan, StepKind.MEASURE, 0, 0)]) == {}
