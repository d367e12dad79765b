from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from run_samples import cell_result, engine_result, plan

from strata.errors import RunFailed, SafetyRefusal, StoreError
from strata.model.run import RunStatus
from strata.run.execute import execute
from strata.run.judge import done_orders
from strata.run.machine import RunMachine


class Bench:
    """Ports that write down the order in which they were called."""

    def __init__(self, fail=(), interrupt_in=(), cut=()):
        self.calls: list[tuple[str, int]] = []
        self.kept: dict[int, object] = {}
        self.told = []
        self.ended = []
        self.fail, self.interrupt_in, self.cut = set(fail), set(interrupt_in), set(cut)
        self.stop = False
        self.now = 0.0

    def measure(self, step, cell):
        self.calls.append(("measure", step.order))
        self.now += 2.0
        if ("measure", step.order) in self.interrupt_in:
            raise KeyboardInterrupt
        if step.order in self.fail:
            raise RunFailed("cannot reach", "nbd://x", "connection refused")
        reason = "stopped" if step.order in self.cut else "runtime"
        return cell_result(step, cell, engine_result(stop_reason=reason))

    def commit(self, result):
        self.calls.append(("commit", result.order))
        if ("commit", result.order) in self.interrupt_in:
            self.interrupt_in.discard(("commit", result.order))
            raise KeyboardInterrupt
        self.kept[result.order] = result

    def emit(self, progress):
        self.told.append(progress)
        if progress.finished and ("emit", progress.step - 1) in self.interrupt_in:
            raise KeyboardInterrupt

    def run(self, p, done=frozenset(), **ports):
        given_ports = {"measure": self.measure, "commit": self.commit, **ports}
        return execute(
            RunMachine(p, done), emit=self.emit, stop_requested=lambda: self.stop, finished=self.ended.append,
            clock=lambda: self.now, **given_ports,
        )  # fmt: skip


def test_measure_and_commit_alternate():
    bench = Bench()
    p = plan()
    assert bench.run(p) is RunStatus.DONE
    assert bench.calls == [(what, s.order) for s in p.steps for what in ("measure", "commit")]


def test_a_step_is_told_as_finished_only_after_its_commit():
    bench = Bench()
    seen = []
    bench.emit = lambda progress: seen.append((progress.finished, len(bench.kept)))
    bench.run(plan())
    assert [kept for finished, kept in seen if finished] == list(range(1, len(plan().steps) + 1))


INTERRUPTS = st.lists(
    st.tuples(st.sampled_from(["measure", "commit", "emit", "stop", "cut"]), st.integers(0, 11)), max_size=6
)


@settings(max_examples=200)
@given(interrupts=INTERRUPTS, fail=st.frozensets(st.integers(0, 11), max_size=2))
def test_over_interrupts_and_resumes_every_step_is_measured_and_none_that_is_safe_again(interrupts, fail):
    p = plan(2, 3, 2)
    kept: dict[int, object] = {}
    for what, order in interrupts:
        once(p, kept, what, order, fail)
    assert once(p, kept, None, None, frozenset()) is RunStatus.DONE
    assert done_orders(kept.values()) == {s.order for s in p.steps}


def once(p, kept, what, order, fail):
    """One life of the run over the same store; checks its own calls."""
    done = done_orders(kept.values())
    bench = Bench(fail=fail, interrupt_in={(what, order)}, cut={order} if what == "cut" else ())
    bench.kept = kept

    def measure(step, cell):
        if what == "stop" and step.order == order:
            bench.stop = True
        return bench.measure(step, cell)

    status = bench.run(p, done, measure=measure)
    measured = [o for name, o in bench.calls if name == "measure"]
    assert not set(measured) & done
    assert len(measured) == len(set(measured))
    for at, (name, o) in enumerate(bench.calls):
        interrupted = name == "measure" and what == "measure" and o == order
        if name == "measure" and not interrupted:
            assert bench.calls[at + 1] == ("commit", o)
            assert o in kept
    if status is RunStatus.STOPPED:
        assert what is not None
    return status


def test_ctrl_c_while_measuring_keeps_what_was_measured_before():
    bench = Bench(interrupt_in={("measure", 3)})
    assert bench.run(plan()) is RunStatus.STOPPED
    assert sorted(bench.kept) == [0, 1, 2]
    assert bench.ended[0].status is RunStatus.STOPPED


def test_ctrl_c_in_a_commit_repeats_the_commit_before_it_stops():
    bench = Bench(interrupt_in={("commit", 1)})
    assert bench.run(plan()) is RunStatus.STOPPED
    assert bench.calls[-2:] == [("commit", 1), ("commit", 1)]
    assert sorted(bench.kept) == [0, 1]


def test_ctrl_c_after_the_last_commit_is_a_run_that_is_done():
    p = plan()
    bench = Bench(interrupt_in={("emit", len(p.steps) - 1)})
    assert bench.run(p) is RunStatus.DONE


def test_a_stop_request_is_obeyed_before_the_next_step():
    bench = Bench()

    def commit(result):
        bench.commit(result)
        bench.stop = result.order == 2

    assert bench.run(plan(), commit=commit) is RunStatus.STOPPED
    assert bench.calls[-1] == ("commit", 2)


def test_a_step_cut_short_is_kept_and_measured_again_on_resume():
    p = plan()
    bench = Bench(cut={2})
    assert bench.run(p) is RunStatus.STOPPED
    assert bench.kept[2].result is not None
    assert done_orders(bench.kept.values()) == {0, 1}
    bench.cut = set()
    assert bench.run(p, done_orders(bench.kept.values())) is RunStatus.DONE
    assert bench.kept[2].error is None


def test_failed_steps_are_tried_again_on_resume():
    p = plan()
    bench = Bench(fail={4})
    assert bench.run(p) is RunStatus.DONE
    assert bench.kept[4].error == "cannot reach nbd://x: connection refused"
    assert done_orders(bench.kept.values()) == {s.order for s in p.steps} - {4}


def test_an_os_error_of_a_step_is_a_failed_step():
    bench = Bench()

    def measure(step, cell):
        if step.order == 0:
            raise ConnectionResetError(104, "Connection reset by peer")
        return bench.measure(step, cell)

    assert bench.run(plan(), measure=measure) is RunStatus.DONE
    assert "Connection reset by peer" in bench.kept[0].error


@pytest.mark.parametrize("error", [SafetyRefusal("will not write to", "/dev/x"), StoreError("full"), TypeError("bug")])
def test_what_must_not_be_passed_over_ends_the_run(error):
    bench = Bench()

    def measure(step, cell):
        if step.order == 1:
            raise error
        return bench.measure(step, cell)

    with pytest.raises(type(error)):
        bench.run(plan(), measure=measure)
    assert sorted(bench.kept) == [0]


def test_without_a_store_nothing_more_is_measured():
    bench = Bench()

    def commit(result):
        raise StoreError("cannot save step", "strata.db", "the disk is full")

    with pytest.raises(StoreError):
        bench.run(plan(), commit=commit)
    assert bench.calls == [("measure", 0)]


def test_the_clock_reaches_the_watcher():
    bench = Bench()
    bench.run(plan(1, 1, 2))
    first = next(p for p in bench.told if p.finished)
    assert first.seconds_left == 2.0
