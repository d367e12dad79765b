"""The one runner: tells a strategy what happens, and does what it asks for, through the ports it is given."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from strata.errors import SafetyRefusal, StoreError, StrataError
from strata.model.plan import Cell, Plan, Step
from strata.model.precondition import Preconditioned
from strata.model.progress import Progress
from strata.model.result import CellResult
from strata.model.run import RunStatus
from strata.run.judge import reason


@dataclass(frozen=True, slots=True)
class Started:
    """The shell is ready."""


@dataclass(frozen=True, slots=True)
class PreconditionDone:
    """What was asked to be written before anything is measured has been, or could not be; the run goes on."""

    result: Preconditioned


@dataclass(frozen=True, slots=True)
class StepDone:
    """The step in hand was measured in ``seconds``."""

    result: CellResult
    seconds: float


@dataclass(frozen=True, slots=True)
class StepFailed:
    """The step in hand could not be measured."""

    order: int
    error: str
    raised: Exception | None = None


@dataclass(frozen=True, slots=True)
class Committed:
    """The result of that step is on stable storage."""

    order: int


@dataclass(frozen=True, slots=True)
class Interrupted:
    """Somebody wants the run to stop here; it can be resumed."""


@dataclass(frozen=True, slots=True)
class Ready:
    """What stood before `Think` is done."""


Event = Started | Ready | PreconditionDone | StepDone | StepFailed | Committed | Interrupted


@dataclass(frozen=True, slots=True)
class Precondition:
    """Write with this cell's workload until the rate is steady; answer with `PreconditionDone`."""

    cell: Cell


@dataclass(frozen=True, slots=True)
class Rest:
    """Issue no I/O for that long (cooldown), or until somebody wants the run to stop. Needs no answer."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Think:
    """What comes next takes a while to work out, and what stands before it need not wait: answer with `Ready`."""


@dataclass(frozen=True, slots=True)
class Measure:
    """Measure this step now; answer with `StepDone` or `StepFailed`."""

    step: Step
    cell: Cell


@dataclass(frozen=True, slots=True)
class Commit:
    """Put this on stable storage; answer with `Committed`. Nothing is measured before that answer."""

    result: CellResult


@dataclass(frozen=True, slots=True)
class Emit:
    """Tell whoever watches."""

    progress: Progress


@dataclass(frozen=True, slots=True)
class Finish:
    """The run is over. Always the last instruction."""

    status: RunStatus
    message: str = ""


Instruction = Precondition | Rest | Think | Measure | Commit | Emit | Finish


class Strategy(Protocol):
    """What is measured next, and what a result means for it: the rounds of a plan, the visits of a matrix, one step.

    Pure: `strata.run.execute.execute` has the hands.
    """

    def handle(self, event: Event) -> tuple[Instruction, ...]:
        """What to do now, in that order; `Finish` is the last of all."""


REST_PIECE_S = 0.1


def execute(
    strategy: Strategy,
    *,
    measure: Callable[[Step, Cell], CellResult],
    commit: Callable[[CellResult], None],
    emit: Callable[[Progress], None],
    stop_requested: Callable[[], bool],
    finished: Callable[[Finish], None] | None = None,
    precondition: Callable[[Cell], Preconditioned] | None = None,
    rest: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> RunStatus:
    """Every step that ``strategy`` asks for, each committed before the next begins.

    ``measure`` may raise a `StrataError` or an `OSError`: the strategy is told that the step failed. A `SafetyRefusal`,
    a `StoreError` and everything unforeseen ends the run and is raised, as is whatever ``commit`` raises: without
    a store there is no sense in measuring on. What was committed until then stays and the run can be resumed.

    ``stop_requested`` is asked before each step; a long ``measure`` should ask it too, and return what it has with
    the stop reason ``stopped``, which is committed as cut short. A `KeyboardInterrupt` from ``measure`` costs that
    step and ends the run; one that arrives while a result is being committed has it committed again first, which
    is why ``commit`` must replace what it finds. Python dies of SIGTERM without a word: whoever calls this
    installs a handler that raises `KeyboardInterrupt` or makes ``stop_requested`` true.

    ``precondition`` does the writing before the first step where the plan asks for it (`strata.run.preconditioner`);
    ``rest`` is given the seconds of a cooldown in short pieces, with ``stop_requested`` asked between them.

    ``finished`` is told the last instruction with its message; ``clock`` in seconds gives the time left.
    """
    todo: deque[Instruction] = deque(strategy.handle(Started()))
    while todo:
        instruction = todo.popleft()
        try:
            match instruction:
                case Emit():
                    emit(instruction.progress)
                case Rest():
                    _rested(instruction.seconds, rest, stop_requested)
                case Think():
                    todo.extend(strategy.handle(Ready()))
                case Precondition():
                    if precondition is None:
                        raise ValueError("the plan requires preconditioning, and there is no preconditioner")
                    todo.extend(strategy.handle(PreconditionDone(precondition(instruction.cell))))
                case Commit():
                    commit(instruction.result)
                    todo.extend(strategy.handle(Committed(instruction.result.order)))
                case Measure():
                    stop = stop_requested()
                    todo.extend(strategy.handle(Interrupted() if stop else _measured(instruction, measure, clock)))
                case Finish():
                    if finished is not None:
                        finished(instruction)
                    return instruction.status
        except KeyboardInterrupt:
            todo = deque(strategy.handle(Interrupted()))
    raise AssertionError("the strategy ended without Finish")


def _rested(seconds: float, rest: Callable[[float], None], stop_requested: Callable[[], bool]) -> None:
    while seconds > 0 and not stop_requested():
        rest(min(seconds, REST_PIECE_S))
        seconds -= REST_PIECE_S


def _measured(
    asked: Measure,
    measure: Callable[[Step, Cell], CellResult],
    clock: Callable[[], float],
) -> Event:
    begin = clock()
    try:
        result = measure(asked.step, asked.cell)
    except (SafetyRefusal, StoreError):
        raise
    except (StrataError, OSError) as e:
        return StepFailed(asked.step.order, reason(e), e)
    return StepDone(result, clock() - begin)


class SingleStep:
    """The one step of ``plan``. What goes wrong with it is the user's to hear as it is: `handle` raises it."""

    def __init__(self, plan: Plan) -> None:
        (self._step,), (self._cell,) = plan.steps, plan.cells

    def handle(self, event: Event) -> tuple[Instruction, ...]:
        match event:
            case Started():
                return (Measure(self._step, self._cell),)
            case StepDone():
                return (Commit(event.result),)
            case StepFailed(raised=Exception() as raised):
                raise raised
            case Committed():
                return (Finish(RunStatus.DONE),)
            case Interrupted():
                return (Finish(RunStatus.STOPPED),)
            case _:
                raise ValueError(f"one step asked for no {type(event).__name__}")
