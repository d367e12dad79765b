"""The visits of a matrix and a single step, carried out by the one runner without an engine or a clock."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from run_samples import cell_result, engine_result, plan

from strata.analyse.matrix.result import spots_of
from strata.errors import ClientsLost, InconclusiveError, RunFailed, SafetyRefusal, UsageError
from strata.model.matrix import Grid, MatrixAsk
from strata.model.plan import Cell, Plan, Step
from strata.model.progress import Progress
from strata.model.result import CellResult, EngineResult, Interval, IntervalDirection, LostClient
from strata.model.run import RunStatus
from strata.model.rw import Rw
from strata.run.execute import Committed, SingleStep, StepDone, execute
from strata.run.matrix import Matrix
from strata.run.visits import SETTLE_S, WRITES_USED_UP, Visits

BIN_NS = 50_000_000
BUDGET_S = 60.0


def cells(writes: bool = False, bytes_written: int = 0, until: float | None = None) -> Plan:
    of = plan(layers=1, workloads=3, rounds=1)
    some = [c.model_copy(update={"workload": c.workload.model_copy(update={"rw": Rw.RANDWRITE})}) for c in of.cells[:1]]
    ask = MatrixAsk(
        grid=Grid(name="x", depths=(1, 2, 3), sizes=(8192,), patterns=("randread",)), budget_s=BUDGET_S,
        target=until or 0.01, promised=until is not None,
    )  # fmt: skip
    asked = (*some, *of.cells[1:]) if writes else of.cells
    return of.model_copy(update={"cells": asked, "matrix": ask, "bytes_written": bytes_written})


def visited(seconds: float, noise: float = 0.02) -> EngineResult:
    """So long at about 1000 IOPS, in whole intervals that differ by ``noise``."""
    bins = [round(50 * (1 + noise * ((n * 7919) % 13 - 6) / 6)) for n in range(max(1, round(seconds * 20)))]
    nothing = IntervalDirection(ops=0, bytes=0, errors=0)
    intervals = tuple(
        Interval(
            start_ns=n * BIN_NS,
            end_ns=(n + 1) * BIN_NS,
            read=IntervalDirection(ops=o, bytes=o, errors=0),
            write=nothing,
        )
        for n, o in enumerate(bins)
    )
    return engine_result(ops=sum(bins)).model_copy(update={"intervals": intervals, "measured_ns": len(bins) * BIN_NS})


class Bench:
    """A clock that only measuring and resting move, and what was kept and told."""

    def __init__(self, of: Plan, kept: tuple[CellResult, ...] = (), size: int = 1000) -> None:
        self.now, self.plan = 0.0, of
        self.rested: list[float] = []
        self.told: list[Progress] = []
        self.kept: dict[int, CellResult] = {c.order: c for c in kept}
        self.unsafe: int | None = None
        self.stop = False
        self.matrix = Matrix(
            spots_of(of), [c.workload.rw.writes for c in of.cells], list(range(len(of.cells))), BUDGET_S,
            of.matrix.target if of.matrix else 0.01, start_s=0.1,
        )  # fmt: skip
        self.visits = Visits(of, self.matrix, kept, size, lambda: self.now)

    def run(self, measure: Callable[[Step, Cell], CellResult] | None = None) -> RunStatus:
        return execute(
            self.visits, measure=measure or self.measure, commit=self.commit, emit=self.told.append,
            stop_requested=lambda: self.stop, rest=self.rest, clock=lambda: self.now,
        )  # fmt: skip

    def measure(self, step: Step, cell: Cell) -> CellResult:
        assert self.unsafe is None, "one is measured and the one before is not safe"
        self.unsafe = step.order
        self.now += self.visits.seconds + 0.1
        return cell_result(step, cell, visited(self.visits.seconds))

    def commit(self, result: CellResult) -> None:
        self.kept[result.order] = result
        self.unsafe = None

    def rest(self, seconds: float) -> None:
        self.rested.append(seconds)
        self.now += seconds


def test_every_visit_is_safe_before_the_next_and_the_budget_is_kept() -> None:
    bench = Bench(cells())
    assert bench.run() is RunStatus.DONE
    assert list(bench.kept) == list(range(len(bench.kept))), "each has an order of its own"
    rounds = [c.round for c in bench.kept.values() if c.cell == bench.plan.cells[0].key]
    assert rounds == list(range(len(rounds))), "another visit of a cell draws other offsets"
    assert bench.now <= BUDGET_S + 2 and bench.matrix.ended is not None
    assert {p.message for p in bench.told} >= {"floor", "brief"}
    assert sum(p.finished for p in bench.told) == len(bench.kept)
    assert all(p.seconds_left is not None and p.seconds_left <= BUDGET_S for p in bench.told)


def test_a_round_that_was_measured_to_its_end_is_not_asked_for_again_whatever_came_of_it() -> None:
    """Under its name the nodes may still have it: it would be counted twice."""
    first = Bench(cells())
    first.run()
    cell = first.plan.cells[0].key
    kept = tuple(first.kept.values())[:12]
    of = [c for c in kept if c.cell == cell]
    assert len(of) >= 3
    kept = tuple(c.model_copy(update={"error": "it failed"}) if c is of[1] else c for c in kept)
    again = Bench(cells(), kept)
    again.run()
    rounds = [c.round for c in again.kept.values() if c.cell == cell]
    assert len(set(rounds)) == len(rounds) > len(of)


def test_it_goes_on_where_it_was_stopped() -> None:
    bench = Bench(cells())

    def measure(step: Step, cell: Cell) -> CellResult:
        bench.stop = step.order == 4
        done = bench.measure(step, cell)
        if not bench.stop:
            return done
        assert done.result is not None
        return done.model_copy(update={"result": done.result.model_copy(update={"stop_reason": "stopped"})})

    assert bench.run(measure) is RunStatus.STOPPED
    assert len(bench.kept) == 5 and "stopped" in (bench.kept[4].error or ""), "what was cut short is kept as such"
    again = Bench(bench.plan, tuple(bench.kept.values()))
    assert again.run() is RunStatus.DONE
    assert min(set(again.kept) - set(bench.kept)) == 5


def test_a_cell_that_fails_is_kept_with_its_error_and_left_out_after_two_times() -> None:
    bench = Bench(cells())
    gone = bench.plan.cells[1].key

    def measure(step: Step, cell: Cell) -> CellResult:
        if cell.key == gone:
            bench.now += 1
            raise RunFailed("cannot reach", "nbd://x", "connection refused")
        return bench.measure(step, cell)

    assert bench.run(measure) is RunStatus.DONE
    errors = [c.error for c in bench.kept.values() if c.cell == gone]
    assert errors == ["cannot reach nbd://x: connection refused"] * 2


def test_what_writes_ends_at_its_bound_and_reads_wait_behind_it() -> None:
    free = Bench(cells(writes=True, bytes_written=1 << 40))
    free.run()
    assert free.rested and sum(free.rested) % SETTLE_S == pytest.approx(0, abs=1e-6)
    bound = Bench(cells(writes=True, bytes_written=10))
    assert bound.run() is RunStatus.DONE
    writing = [c for c in bound.kept.values() if c.cell == bound.plan.cells[0].key]
    assert writing and all(c.error == WRITES_USED_UP and c.result is None for c in writing)
    assert not bound.rested


def test_a_promise_that_the_noise_floor_forbids_is_refused_before_every_cell_is_visited() -> None:
    bench = Bench(cells(until=0.0001))
    with pytest.raises(InconclusiveError, match="cannot promise"):
        bench.run()
    assert bench.kept and {p.message for p in bench.told} == {"floor"}


@pytest.mark.parametrize("where", ["measure", "commit"])
def test_an_interrupt_keeps_what_was_measured(where: str) -> None:
    bench, raised = Bench(cells()), False

    def measure(step: Step, cell: Cell) -> CellResult:
        if where == "measure" and step.order == 2:
            raise KeyboardInterrupt
        return bench.measure(step, cell)

    def commit(result: CellResult) -> None:
        nonlocal raised
        if where == "commit" and result.order == 2 and not raised:
            raised = True
            raise KeyboardInterrupt
        bench.commit(result)

    status = execute(
        bench.visits, measure=measure, commit=commit, emit=bench.told.append, stop_requested=lambda: False,
        rest=bench.rest, clock=lambda: bench.now,
    )  # fmt: skip
    assert status is RunStatus.STOPPED
    assert len(bench.kept) == (2 if where == "measure" else 3)


def test_a_matrix_takes_no_event_that_it_did_not_ask_for() -> None:
    of = cells()
    with pytest.raises(ValueError, match="asked for no StepDone"):
        Bench(of).visits.handle(StepDone(cell_result(of.steps[0], of.cells[0]).model_copy(update={"result": None}), 1))


ONE = plan(1, 1, 1)


def once(measure: Callable[[Step, Cell], CellResult], stop: bool = False) -> tuple[RunStatus, list[CellResult]]:
    kept: list[CellResult] = []
    status = execute(
        SingleStep(ONE), measure=measure, commit=kept.append, emit=lambda _: None, stop_requested=lambda: stop
    )  # fmt: skip
    return status, kept


def test_one_step_is_measured_and_kept_as_it_came() -> None:
    cut = cell_result(ONE.steps[0], ONE.cells[0], engine_result(stop_reason="stopped"))
    assert once(lambda _step, _cell: cut) == (RunStatus.DONE, [cut]), "who hears its intervals ends it in good order"


def test_nobody_measures_what_was_stopped_before() -> None:
    assert once(lambda _step, _cell: pytest.fail("measured"), stop=True) == (RunStatus.STOPPED, [])


@pytest.mark.parametrize("error", [UsageError("no"), RunFailed("no"), SafetyRefusal("no"), OSError(5, "no")])
def test_what_goes_wrong_with_one_step_is_raised_as_it_is(error: Exception) -> None:
    def measure(_step: Step, _cell: Cell) -> CellResult:
        raise error

    with pytest.raises(type(error)) as raised:
        once(measure)
    assert raised.value is error


def test_one_step_takes_no_event_that_it_did_not_ask_for() -> None:
    from strata.run.execute import Ready

    assert SingleStep(ONE).handle(Committed(0))
    with pytest.raises(ValueError, match="asked for no Ready"):
        SingleStep(ONE).handle(Ready())


def test_it_ends_where_clients_are_lost_and_goes_on_with_that_cell() -> None:
    """The others' figures are no measurement of the cell, and what follows would have them alone."""
    bench = Bench(cells())

    def measure(step: Step, cell: Cell) -> CellResult:
        done = bench.measure(step, cell)
        if step.order != 4:
            return done
        assert done.result is not None
        lost = LostClient(client=1, node="n1", why="it died", measured_from_ns=0)
        return done.model_copy(update={"result": done.result.model_copy(update={"lost": (lost,)})})

    assert bench.run(measure) is RunStatus.STOPPED
    assert bench.visits.lost is not None and "client 1 on n1: it died" in bench.visits.lost
    assert len(bench.kept) == 5 and bench.kept[4].error == bench.visits.lost

    def gone(step: Step, cell: Cell) -> CellResult:
        raise ClientsLost("no client measured", "null:", "the scheduler is gone")

    again = Bench(bench.plan, tuple(bench.kept.values()))
    assert again.run(gone) is RunStatus.STOPPED
    assert list(again.kept) == [0, 1, 2, 3, 4, 5] and "scheduler" in (again.visits.lost or "")
    last = Bench(bench.plan, tuple(again.kept.values()))
    assert last.run() is RunStatus.DONE and last.visits.lost is None
