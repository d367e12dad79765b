from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from run_samples import cell_result, engine_result, plan

from strata.model.progress import Phase
from strata.model.run import RunStatus
from strata.run.execute import Commit, Committed, Emit, Finish, Interrupted, Measure, Started, StepDone, StepFailed
from strata.run.machine import FAILURES_IN_A_ROW, RunMachine


def measure_of(instructions) -> Measure:
    (found,) = [i for i in instructions if isinstance(i, Measure)]
    return found


def finish_of(instructions) -> Finish:
    assert isinstance(instructions[-1], Finish)
    return instructions[-1]


def progress_of(instructions):
    return [i.progress for i in instructions if isinstance(i, Emit)]


def step_through(machine, first, answer):
    """Drives the machine to its end; ``answer`` makes the event for a Measure. Gives every instruction."""
    seen = []
    todo = list(first)
    while todo:
        instruction = todo.pop(0)
        seen.append(instruction)
        if isinstance(instruction, Measure):
            todo += machine.handle(answer(instruction))
        elif isinstance(instruction, Commit):
            todo += machine.handle(Committed(instruction.result.order))
    return seen


def good(asked: Measure, seconds: float = 1.0) -> StepDone:
    return StepDone(cell_result(asked.step, asked.cell), seconds)


def bad(asked: Measure) -> StepFailed:
    return StepFailed(asked.step.order, "connection refused")


def test_a_result_is_committed_before_anything_else_is_measured():
    machine = RunMachine(plan())
    asked = measure_of(machine.handle(Started()))
    assert [type(i) for i in machine.handle(good(asked))] == [Commit]
    after = machine.handle(Committed(asked.step.order))
    assert [type(i) for i in after] == [Emit, Emit, Measure]
    assert measure_of(after).step.order == asked.step.order + 1


@given(
    layers=st.integers(1, 3),
    rounds=st.integers(1, 3),
    done=st.frozensets(st.integers(0, 20)),
    skip=st.frozensets(st.sampled_from(["l0/randread-8KiB-qd1", "l1/randread-8KiB-qd2"])),
)
def test_every_step_that_is_not_done_is_measured_once_in_order(layers, rounds, done, skip):
    p = plan(layers, 2, rounds, skip)
    machine = RunMachine(p, done)
    seen = step_through(machine, machine.handle(Started()), good)
    measured = [i.step.order for i in seen if isinstance(i, Measure)]
    assert measured == [s.order for s in p.steps if s.order not in done]
    assert [i.result.order for i in seen if isinstance(i, Commit)] == measured
    assert finish_of(seen).status is (RunStatus.DONE if p.steps else RunStatus.FAILED)


def test_a_failed_step_is_kept_with_its_error_and_the_run_goes_on():
    machine = RunMachine(plan())
    seen = step_through(machine, machine.handle(Started()), lambda a: bad(a) if a.step.order == 1 else good(a))
    kept = {i.result.order: i.result for i in seen if isinstance(i, Commit)}
    assert len(kept) == len(plan().steps)
    assert (kept[1].error, kept[1].result, kept[1].layer) == ("connection refused", None, "l1")
    assert finish_of(seen) == Finish(RunStatus.DONE)


def test_a_layer_that_fails_three_times_in_a_row_is_given_up_and_the_other_goes_on():
    p = plan(2, 2, 4)
    machine = RunMachine(p)
    seen = step_through(machine, machine.handle(Started()), lambda a: bad(a) if a.cell.layer == "l1" else good(a))
    asked = [i.cell.layer for i in seen if isinstance(i, Measure)]
    assert (asked.count("l0"), asked.count("l1")) == (8, FAILURES_IN_A_ROW)
    assert finish_of(seen).status is RunStatus.DONE
    assert "l1" in finish_of(seen).message and "connection refused" in finish_of(seen).message
    said = [e for e in progress_of(seen) if "given up" in e.message]
    assert [(e.layer, e.error) for e in said] == [("l1", "connection refused")]


def test_failures_that_are_not_in_a_row_do_not_end_a_layer():
    p = plan(1, 1, 9)
    machine = RunMachine(p)
    seen = step_through(machine, machine.handle(Started()), lambda a: good(a) if a.step.order % 3 == 2 else bad(a))
    assert sum(isinstance(i, Measure) for i in seen) == 9
    assert finish_of(seen).status is RunStatus.DONE


def test_a_run_of_which_all_layers_were_given_up_has_failed():
    machine = RunMachine(plan(2, 2, 4))
    seen = step_through(machine, machine.handle(Started()), bad)
    assert sum(isinstance(i, Measure) for i in seen) == 2 * FAILURES_IN_A_ROW
    assert finish_of(seen).status is RunStatus.FAILED
    assert "l0" in finish_of(seen).message and "l1" in finish_of(seen).message


def test_a_run_without_one_measured_step_has_failed():
    machine = RunMachine(plan(1, 1, 2))
    end = finish_of(step_through(machine, machine.handle(Started()), bad))
    assert end.status is RunStatus.FAILED
    assert "connection refused" in end.message


def test_a_plan_of_skipped_cells_fails_and_says_so():
    p = plan(1, 1, 1, frozenset({"l0/randread-8KiB-qd1"}))
    assert "skipped" in finish_of(RunMachine(p).handle(Started())).message


def test_a_run_that_is_all_done_has_nothing_to_do():
    p = plan()
    assert RunMachine(p, frozenset(s.order for s in p.steps)).handle(Started()) == (Finish(RunStatus.DONE),)


@pytest.mark.parametrize("moment", ["before", "measuring"])
def test_an_interrupt_stops_the_run(moment):
    machine = RunMachine(plan())
    if moment == "measuring":
        machine.handle(Started())
    assert finish_of(machine.handle(Interrupted())).status is RunStatus.STOPPED


def test_an_interrupt_before_a_commit_is_confirmed_commits_first():
    machine = RunMachine(plan())
    asked = measure_of(machine.handle(Started()))
    (commit,) = machine.handle(good(asked))
    again, end = machine.handle(Interrupted())
    assert again == commit
    assert end.status is RunStatus.STOPPED
    assert machine.handle(Committed(0)) == (end,)


def test_a_result_cut_short_is_committed_with_what_it_has_and_stops_the_run():
    machine = RunMachine(plan())
    asked = measure_of(machine.handle(Started()))
    cut = cell_result(asked.step, asked.cell, engine_result(stop_reason="stopped"))
    (commit,) = machine.handle(StepDone(cut, 0.4))
    assert commit.result.result == cut.result
    assert "stopped after" in (commit.result.error or "")
    assert finish_of(machine.handle(Committed(0))).status is RunStatus.STOPPED


@pytest.mark.parametrize(
    ("engine", "said"),
    [
        (engine_result(stop_reason="stuck", stuck=3), "3 I/Os were issued and never came back"),
        (engine_result(stop_reason="error", errored=1), "EIO"),
        (engine_result(ops=0, errored=9), "every I/O failed: EIO (9 in all)"),
        (engine_result(ops=0), "no I/O completed within 2 s"),
        (
            engine_result(stop_reason="error").model_copy(update={"message": "nbd://h/x: connection lost"}),
            "s: nbd://h/x: connection lost",
        ),
    ],
)
def test_a_result_that_is_no_measurement_counts_as_a_failure(engine, said):
    machine = RunMachine(plan(1, 1, 5))
    seen = step_through(
        machine, machine.handle(Started()), lambda a: StepDone(cell_result(a.step, a.cell, engine), 1.0)
    )
    commits = [i.result for i in seen if isinstance(i, Commit)]
    assert len(commits) == FAILURES_IN_A_ROW
    assert all(said in (c.error or "") and c.result == engine for c in commits)
    assert finish_of(seen).status is RunStatus.FAILED


def test_single_failed_ios_do_not_make_a_failure():
    machine = RunMachine(plan(1, 1, 1))
    asked = measure_of(machine.handle(Started()))
    (commit,) = machine.handle(StepDone(cell_result(asked.step, asked.cell, engine_result(errored=2)), 1.0))
    assert commit.result.error is None


def test_progress_tells_where_the_run_stands():
    p = plan(2, 2, 2)
    machine = RunMachine(p, done=frozenset({0, 1, 2}))
    first = machine.handle(Started())
    (begins,) = progress_of(first)
    assert (begins.phase, begins.step, begins.steps, begins.round, begins.rounds) == (Phase.MEASURE, 4, 8, 1, 2)
    assert begins.finished is False and begins.iops is None
    asked = measure_of(first)
    machine.handle(good(asked))
    ended = progress_of(machine.handle(Committed(3)))[0]
    assert (ended.finished, ended.step, ended.iops) == (True, 4, 500.0)
    assert ended.bytes_per_second == 500.0 * 8192


def test_time_left_comes_from_the_plan_and_then_from_what_steps_took():
    p = plan(1, 1, 4)
    machine = RunMachine(p)
    instructions = machine.handle(Started())
    assert progress_of(instructions)[0].seconds_left == 8.0
    machine.handle(good(measure_of(instructions), seconds=5.0))
    told = progress_of(machine.handle(Committed(0)))
    assert [e.seconds_left for e in told] == [15.0, 15.0]


def test_a_failed_step_does_not_shorten_the_time_left():
    machine = RunMachine(plan(1, 1, 4))
    machine.handle(bad(measure_of(machine.handle(Started()))))
    assert progress_of(machine.handle(Committed(0)))[0].seconds_left == 6.0


def test_events_out_of_place_are_refused():
    machine = RunMachine(plan())
    asked = measure_of(machine.handle(Started()))
    wrong = plan().steps[3]
    for event in (
        Started(),
        Committed(0),
        StepFailed(5, "x"),
        StepDone(cell_result(wrong, asked.cell), 1.0),
    ):
        with pytest.raises(ValueError):
            machine.handle(event)
    machine.handle(good(asked))
    with pytest.raises(ValueError):
        machine.handle(good(asked))
