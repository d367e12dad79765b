"""What a matrix and a sweep share: each step is chosen once the one before it is safe. No I/O."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence

from strata.errors import ClientsLost
from strata.model.plan import Cell, Step
from strata.model.progress import Phase, Progress
from strata.model.result import CellResult
from strata.model.run import RunStatus
from strata.run.execute import (
    Commit,
    Committed,
    Event,
    Finish,
    Instruction,
    Interrupted,
    Ready,
    Started,
    StepDone,
    StepFailed,
)
from strata.run.judge import cut_short, fault, result_of


class Stepwise(ABC):
    """``kept`` are the results of a resumed run. ``told``: of the step in hand. ``lost``: which clients are gone;
    nothing is measured after that, as the rest is for all of them. ``there``: they are not, and each said why."""

    _step: Step
    _cell: Cell

    def __init__(self, kept: Sequence[CellResult]) -> None:
        self.told = Progress(phase=Phase.MEASURE)
        self._order = max((r.order for r in kept), default=-1) + 1
        self._unsafe: CellResult | None = None
        self.lost: str | None = None
        self.there = False
        # Of each cell, which round comes next. A round that was measured to its end is never asked for again, whatever
        # came of it: under its name clients may still have it, and it would count twice.
        self._rounds: Counter[str] = Counter()
        for one in kept:
            self._count(one)

    def handle(self, event: Event) -> tuple[Instruction, ...]:
        """What to do now."""
        match event:
            case Started() | Ready():
                return self._next()
            case StepDone(result=CellResult(result=done)) if done is not None:
                self._seen(event)
                self.lost = fault(done) if done.lost else None
                return self._commit(event.result.model_copy(update={"error": fault(done)}))
            case StepFailed():
                self._seen(event)
                gone = event.raised if isinstance(event.raised, ClientsLost) else None
                self.lost, self.there = None if gone is None else event.error, gone is not None and gone.there
                return self._commit(result_of(self._step, self._cell, error=event.error))
            case Committed():
                return self._safe()
            case Interrupted():
                rescue = (Commit(self._unsafe),) if self._unsafe is not None else ()
                return (*rescue, Finish(RunStatus.STOPPED))
            case _:
                raise ValueError(f"{type(self).__name__} asked for no {type(event).__name__}")

    @abstractmethod
    def _next(self) -> tuple[Instruction, ...]:
        """The step that comes now, which is ``_step`` of ``_cell`` from here on."""

    @abstractmethod
    def _took(self, result: CellResult) -> tuple[Instruction, ...]:
        """What a result means that is safe, and what comes then."""

    def _seen(self, event: StepDone | StepFailed) -> None:  # noqa: B027  (most have nothing to note)
        """What is known before the result is safe."""

    def _count(self, done: CellResult) -> None:
        if done.result is not None and not done.result.lost and not cut_short(done.result):
            self._rounds[done.cell] = max(self._rounds[done.cell], done.round + 1)

    def _commit(self, result: CellResult) -> tuple[Instruction, ...]:
        self._unsafe = result
        return (Commit(result),)

    def _safe(self) -> tuple[Instruction, ...]:
        result, self._unsafe = self._unsafe, None
        assert result is not None, "no step requested it"
        self._order += 1
        self._count(result)
        if result.result is not None and cut_short(result.result):
            return (Finish(RunStatus.STOPPED),)
        if self.lost is not None:
            return (Finish(RunStatus.STOPPED),)
        return self._took(result)
