"""The rounds of a plan as a strategy: events in, instructions out. No I/O, no clock.

Its phases: precondition (where the plan asks for it: each writing workload once, at the lowest layer that takes it,
before anything is measured), then for each step ramp and measure, with the cooldown between them. Preparing the data
comes before the machine, because the plan needs it. A resumed run preconditions again: the device has rested.

A step goes Measure → StepDone or StepFailed → Commit → Committed, and only then comes the next Measure. So at every
instant at most one step is measured and not yet safe. A failing step is kept as a result with ``error`` and the run
goes on; a layer that fails `FAILURES_IN_A_ROW` times in a row is given up, because a dead server costs a time-out
for every step that is still sent to it.
"""

from __future__ import annotations

from collections import deque

from strata.model.plan import Cell, Plan, Step, StepKind
from strata.model.progress import Phase, Progress
from strata.model.result import CellResult
from strata.model.run import RunStatus
from strata.run.execute import (
    Commit,
    Committed,
    Emit,
    Event,
    Finish,
    Instruction,
    Interrupted,
    Measure,
    Precondition,
    PreconditionDone,
    Ready,
    Rest,
    Started,
    StepDone,
    StepFailed,
)
from strata.run.judge import cut_short, ended, fault, result_of

FAILURES_IN_A_ROW = 3
STOPPED = "stopped; it can be resumed"


class RunMachine:
    """Carries out the steps of ``plan`` whose order is not in ``done``, in their order.

    `handle` takes one event and gives the instructions to be carried out, in that order. An event that does not
    fit where the run stands is a mistake of the shell and raises `ValueError`; once the run is over, every event is
    answered with its `Finish`.
    """

    def __init__(self, plan: Plan, done: frozenset[int] = frozenset()) -> None:
        self._cells: dict[str, Cell] = {cell.key: cell for cell in plan.cells}
        steps = sorted((s for s in plan.steps if self._cells[s.cell].skip is None), key=lambda s: s.order)
        self._queue = deque(step for step in steps if step.order not in done)
        self._layers = {self._cells[step.cell].layer for step in steps}
        self._ahead = deque(self._to_precondition(plan))
        self._cooldown_s = plan.cooldown_s
        self._rested = True
        self._measured_any = len(self._queue) < len(steps)
        self._watch = ProgressTracker(plan)
        self._in_hand: Step | None = None
        self._unsafe: tuple[CellResult, StepDone | None] | None = None
        self._failures: dict[str, int] = {}
        self._given_up: dict[str, str] = {}
        self._last_error = ""
        self._over: Finish | None = None

    def handle(self, event: Event) -> tuple[Instruction, ...]:
        if self._over is not None:
            return (self._over,)
        match event:
            case Started():
                if self._in_hand is not None:
                    raise ValueError("a run starts once")
                return self._begin()
            case PreconditionDone():
                return self._preconditioned(event)
            case StepDone():
                return self._commit(self._judged(event.result), event)
            case StepFailed():
                return self._commit(self._failed(event), None)
            case Committed():
                return self._safe(event)
            case Interrupted():
                return self._interrupted()
            case Ready():
                raise ValueError("there is nothing to think about")

    def _to_precondition(self, plan: Plan) -> list[Cell]:
        if plan.precondition is None:
            return []
        asked = {self._cells[step.cell].workload.key for step in self._queue}
        first: dict[str, Cell] = {}
        for cell in plan.cells:
            if cell.skip is None and cell.workload.rw.writes and cell.workload.key in asked:
                first.setdefault(cell.workload.key, cell)
        return list(first.values())

    def _begin(self) -> tuple[Instruction, ...]:
        if not self._ahead:
            return self._next()
        return (Emit(self._watch.preconditions(self._ahead[0])), Precondition(self._ahead[0]))

    def _preconditioned(self, event: PreconditionDone) -> tuple[Instruction, ...]:
        if not self._ahead or self._ahead[0].workload.key != event.result.workload_key:
            raise ValueError(f"{event.result.workload_key} was preconditioned without a request")
        self._ahead.popleft()
        if event.result.ended == "stopped":
            return self._interrupted()
        return self._begin()

    def _next(self) -> tuple[Instruction, ...]:
        if self._layers and self._given_up.keys() >= self._layers:
            return self._finish(RunStatus.FAILED, self._complaint())
        if not self._queue:
            if self._measured_any:
                return self._finish(RunStatus.DONE, self._complaint())
            why = self._last_error or "every cell of the plan is skipped"
            return self._finish(RunStatus.FAILED, f"nothing was measured: {why}")
        self._in_hand = step = self._queue.popleft()
        rest = () if self._rested or not self._cooldown_s else (Rest(self._cooldown_s),)
        self._rested = False
        return (
            *rest,
            Emit(self._watch.at(step, left=len(self._queue) + 1)),
            Measure(step, self._cells[step.cell]),
        )

    def _judged(self, result: CellResult) -> CellResult:
        if result.error is not None or result.result is None:
            return result if result.error else result.model_copy(update={"error": "there is no result"})
        return result.model_copy(update={"error": fault(result.result)})

    def _failed(self, event: StepFailed) -> CellResult:
        step = self._in_hand
        if step is None or step.order != event.order:
            raise ValueError(f"step {event.order} failed, and it is not in hand")
        return result_of(step, self._cells[step.cell], error=event.error)

    def _commit(self, result: CellResult, event: StepDone | None) -> tuple[Instruction, ...]:
        if self._in_hand is None or self._unsafe is not None or result.order != self._in_hand.order:
            raise ValueError(f"a result of step {result.order} comes, and it is not in hand")
        self._unsafe = (result, event)
        return (Commit(result),)

    def _safe(self, event: Committed) -> tuple[Instruction, ...]:
        step, unsafe = self._in_hand, self._unsafe
        if step is None or unsafe is None or step.order != event.order:
            raise ValueError(f"step {event.order} was committed without a request")
        self._in_hand = self._unsafe = None
        result, done = unsafe
        if result.error is None and done is not None:
            self._watch.took(done.seconds)
        told = Emit(self._watch.ended(step, result, left=len(self._queue)))
        if result.result is not None and cut_short(result.result):
            return (told, *self._finish(RunStatus.STOPPED, STOPPED))
        return (told, *self._account(step, result), *self._next())

    def _interrupted(self) -> tuple[Instruction, ...]:
        # A result of which nobody said that it is safe is committed now, perhaps for the second time.
        rescue = (Commit(self._unsafe[0]),) if self._unsafe is not None else ()
        return (*rescue, *self._finish(RunStatus.STOPPED, STOPPED))

    def _account(self, step: Step, result: CellResult) -> tuple[Instruction, ...]:
        layer = self._cells[step.cell].layer
        if result.error is None:
            self._measured_any = True
            self._failures[layer] = 0
            return ()
        self._last_error = result.error
        self._failures[layer] = self._failures.get(layer, 0) + 1
        if self._failures[layer] < FAILURES_IN_A_ROW:
            return ()
        self._given_up[layer] = result.error
        self._queue = deque(s for s in self._queue if self._cells[s.cell].layer != layer)
        return (Emit(self._watch.gave_up(step, layer, result.error, left=len(self._queue))),)

    def _complaint(self) -> str:
        return "; ".join(
            f"layer {layer} was given up after {FAILURES_IN_A_ROW} failures in a row: {error}"
            for layer, error in self._given_up.items()
        )

    def _finish(self, status: RunStatus, message: str) -> tuple[Instruction, ...]:
        self._over = Finish(status, message)
        return (self._over,)


class ProgressTracker:
    """Makes the `Progress` of each step, and learns how long a step takes. No clock."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._place = {step.order: place for place, step in enumerate(plan.steps, start=1)}
        self._cells = {cell.key: cell for cell in plan.cells}
        self._seconds = 0.0
        self._steps = 0

    def took(self, seconds: float) -> None:
        """A step was measured in full in that time. Failed ones are left out: they are over too soon."""
        self._seconds += seconds
        self._steps += 1

    def seconds_left(self, steps: int) -> float:
        """For that many steps: the mean of those measured so far, before the first the plan's own estimate."""
        if self._steps:
            return steps * (self._seconds / self._steps + self._plan.cooldown_s)
        return steps * self._plan.step_s

    def preconditions(self, cell: Cell) -> Progress:
        """This cell's workload is written until the rate is steady."""
        return Progress(phase=Phase.PRECONDITION, layer=cell.layer, label=cell.workload.label)

    def ended(self, step: Step, result: CellResult, left: int) -> Progress:
        """The step is committed; ``left`` steps remain after it."""
        return ended(self.at(step, left), result)

    def gave_up(self, step: Step, layer: str, error: str, left: int) -> Progress:
        """No more steps of that layer will be run."""
        return Progress(
            phase=_phase(step),
            layer=layer,
            message=f"layer {layer} is given up after failures in a row: {error}",
            seconds_left=self.seconds_left(left),
            error=error,
        )

    def at(self, step: Step, left: int) -> Progress:
        """The step in hand; ``left`` steps remain, this one included where it is about to be measured."""
        cell = self._cells[step.cell]
        return Progress(
            phase=_phase(step),
            layer=cell.layer,
            label=cell.workload.label,
            round=step.round + 1,
            rounds=self._plan.rounds_most,
            step=self._place[step.order],
            steps=len(self._plan.steps),
            seconds_left=self.seconds_left(left),
        )


def _phase(step: Step) -> Phase:
    return Phase.CONFIRM if step.kind is StepKind.CONFIRM else Phase.MEASURE
