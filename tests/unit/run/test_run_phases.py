"""Precondition, measure, cooldown: in which order the machine asks for them."""

from __future__ import annotations

import pytest
from run_samples import cell_result, plan

from strata.model.plan import Cell, Plan, Step
from strata.model.precondition import PreconditionBudget, Preconditioned
from strata.model.progress import Phase
from strata.model.result import CellResult
from strata.model.run import RunStatus
from strata.model.rw import Rw
from strata.run.execute import (
    Emit,
    Finish,
    Interrupted,
    Measure,
    Precondition,
    PreconditionDone,
    Rest,
    Started,
    execute,
)
from strata.run.machine import RunMachine

BUDGET = PreconditionBudget(seconds_max=1.0, bytes_max=1, round_s=0.1)


def writing(*, cooldown_s: float = 0.0) -> Plan:
    """Two layers; the first workload reads, the second writes and is skipped at the lower layer."""
    made = plan(layers=2, workloads=2, rounds=1)
    cells = []
    for cell in made.cells:
        writes = cell.workload.arrival.iodepth == 2
        w = cell.workload.model_copy(update={"rw": Rw.RANDWRITE}) if writes else cell.workload
        cells.append(Cell(layer=cell.layer, workload=w, skip="raw" if writes and cell.layer == "l0" else None))
    steps = tuple(Step(order=i, round=0, cell=c.key) for i, c in enumerate(c for c in cells if c.skip is None))
    return made.model_copy(
        update={"cells": tuple(cells), "steps": steps, "cooldown_s": cooldown_s, "precondition": BUDGET}
    )


def done(cell: Cell, ended: str = "steady") -> Preconditioned:
    return Preconditioned(layer=cell.layer, workload_key=cell.workload.key, ended=ended)


def test_each_writing_workload_once_at_the_lowest_layer_before_anything_is_measured() -> None:
    machine = RunMachine(writing())
    told, asked = machine.handle(Started())
    assert isinstance(told, Emit) and told.progress.phase is Phase.PRECONDITION
    assert isinstance(asked, Precondition)
    assert (asked.cell.layer, asked.cell.workload.rw) == ("l1", Rw.RANDWRITE)
    after = machine.handle(PreconditionDone(done(asked.cell)))
    assert [type(i) for i in after] == [Emit, Measure]
    with pytest.raises(ValueError, match="without a request"):
        machine.handle(PreconditionDone(done(asked.cell)))


def test_what_did_not_become_steady_is_measured_and_what_was_stopped_is_not() -> None:
    machine = RunMachine(writing())
    asked = machine.handle(Started())[-1]
    assert isinstance(asked, Precondition)
    assert isinstance(machine.handle(PreconditionDone(done(asked.cell, "time")))[-1], Measure)
    machine = RunMachine(writing())
    machine.handle(Started())
    (over,) = machine.handle(PreconditionDone(done(asked.cell, "stopped")))
    assert over == Finish(RunStatus.STOPPED, "stopped; it can be resumed")
    assert machine.handle(Interrupted()) == (over,)


def test_a_resumed_run_preconditions_only_what_is_left() -> None:
    of = writing()
    reads = frozenset(s.order for s in of.steps if not of.cell(s.cell).workload.rw.writes)
    assert isinstance(RunMachine(of, reads).handle(Started())[-1], Precondition)
    writes = frozenset(s.order for s in of.steps) - reads
    assert isinstance(RunMachine(of, writes).handle(Started())[-1], Measure)


def test_the_shell_rests_between_measurements_and_never_before_the_first_or_after_the_last() -> None:
    happened: list[str] = []

    def measure(step: Step, cell: Cell) -> CellResult:
        happened.append("measure")
        return cell_result(step, cell)

    def precondition(cell: Cell) -> Preconditioned:
        happened.append("precondition")
        return done(cell)

    status = execute(
        RunMachine(writing(cooldown_s=0.25)),
        measure=measure,
        commit=lambda _: None,
        emit=lambda _: None,
        stop_requested=lambda: False,
        precondition=precondition,
        rest=lambda s: happened.append(f"{s:.2f}"),
        clock=lambda: 0.0,
    )
    pause = ["0.10", "0.10", "0.05"]
    assert status is RunStatus.DONE
    assert happened == ["precondition", "measure", *pause, "measure", *pause, "measure"]


def test_a_stop_ends_the_rest() -> None:
    rested: list[float] = []
    machine = RunMachine(writing(cooldown_s=60.0))
    assert not any(isinstance(i, Rest) for i in machine.handle(Started()))
    status = execute(
        RunMachine(writing(cooldown_s=60.0)),
        measure=cell_result,
        commit=lambda _: None,
        emit=lambda _: None,
        stop_requested=lambda: len(rested) == 3,
        precondition=done,
        rest=rested.append,
        clock=lambda: 0.0,
    )
    assert (status, len(rested)) == (RunStatus.STOPPED, 3)


def test_a_plan_that_asks_for_it_needs_somebody_to_do_it() -> None:
    with pytest.raises(ValueError, match="there is no preconditioner"):
        execute(
            RunMachine(writing()),
            measure=cell_result,
            commit=lambda _: None,
            emit=lambda _: None,
            stop_requested=lambda: False,
        )
