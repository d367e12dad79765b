"""The visits of a matrix as a strategy: what `Matrix` asks for, each safe before the next, as long as there is budget.

No I/O; the clock is given: thinking, resting and committing take time too, and the budget is that of the clock.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from strata import units
from strata.analyse.visit import visit_of
from strata.errors import InconclusiveError
from strata.model.matrix import Known
from strata.model.plan import Plan, Step
from strata.model.progress import Phase, Progress
from strata.model.result import CellResult
from strata.model.run import RunStatus
from strata.run.execute import (
    Emit,
    Finish,
    Instruction,
    Measure,
    Rest,
    StepDone,
    StepFailed,
    Think,
)
from strata.run.judge import ended, result_of
from strata.run.matrix import Ask, Matrix
from strata.run.stepwise import Stepwise

SETTLE_S = 0.5
"""After the last write of a batch, before the first read of the next: what the device still works off."""
WRITES_USED_UP = "byte bound reached: no more writing"


class Visits(Stepwise):
    """``kept`` are the results of a resumed matrix; every visit may write up to ``size`` bytes once more.

    `handle` raises `InconclusiveError` where every cell was promised to be narrow and the noise floor forbids it.
    """

    def __init__(
        self, plan: Plan, matrix: Matrix, kept: Sequence[CellResult], size: int, clock: Callable[[], float]
    ) -> None:
        super().__init__(kept)
        self.matrix = matrix
        self._plan, self._size, self._clock = plan, size, clock
        self._written = sum(r.result.write.bytes for r in kept if r.result is not None)
        self._asks = self._asked()
        self._wrote = False
        self._begin = 0.0

    @property
    def seconds(self) -> float:
        """For which the visit in hand is measured."""
        return self._ask.seconds

    def _seen(self, event: StepDone | StepFailed) -> None:
        done = event.result.result if isinstance(event, StepDone) else None
        if done is not None:
            self._written += done.write.bytes

    def _asked(self) -> Iterator[tuple[Ask, int, int]]:
        """Each with its place in its batch, and the length of that."""
        for batch in self._batches():
            for number, ask in enumerate(batch, start=1):
                if self.matrix.spent_s >= self.matrix.budget_s:
                    self.matrix.over("budget")
                    break
                yield ask, number, len(batch)

    def _batches(self) -> Iterator[tuple[Ask, ...]]:
        """The noise floor, every cell, then what pays most."""
        yield self.matrix.begin()
        refuse_what_the_floor_forbids(self.matrix, self._plan)
        yield self.matrix.brief()
        while asks := self._more():
            yield asks

    def _more(self) -> tuple[Ask, ...]:
        begin = self._clock()
        asks = self.matrix.more()
        self.matrix.spent_s += self._clock() - begin
        return asks

    def _next(self) -> tuple[Instruction, ...]:
        found = next(self._asks, None)
        if found is None:
            return (Finish(RunStatus.DONE),)
        self._ask, number, of = found
        self._begin = self._clock()
        self._cell = cell = self._plan.cells[self._ask.cell]
        self._step = Step(order=self._order, round=self._rounds[cell.key], cell=cell.key)
        writes = cell.workload.rw.writes
        if writes and self._written + self._size >= self._plan.bytes_written:
            return self._commit(result_of(self._step, cell, error=WRITES_USED_UP))
        rest = (Rest(SETTLE_S),) if self._wrote and not writes else ()
        self._wrote = writes
        self.told = Progress(
            phase=Phase.MEASURE, layer=cell.layer, label=cell.workload.label, message=self._ask.why, step=number,
            steps=of, seconds_left=max(0.0, self.matrix.budget_s - self.matrix.spent_s),
        )  # fmt: skip
        return (*rest, Emit(self.told), Measure(self._step, cell))

    def _took(self, result: CellResult) -> tuple[Instruction, ...]:
        ask, done, seconds = self._ask, result.result, self._clock() - self._begin
        if done is None:
            self.matrix.took(ask.cell, None, ask.seconds, 0.0 if result.error == WRITES_USED_UP else seconds)
            return self._next()
        visit = None if result.error is not None else visit_of(ask.cell, done.intervals)
        self.matrix.took(ask.cell, visit, ask.seconds, seconds)
        return (Emit(ended(self.told, result)), Think())


def refuse_what_the_floor_forbids(matrix: Matrix, plan: Plan) -> None:
    """Raises `InconclusiveError` where a promise was asked that no budget, or not this one, can keep."""
    ask = plan.matrix
    if ask is None or not ask.promised:
        return
    told = matrix.predict_budget(Known.FLOOR, matrix.noise)
    # Only what even the lower end of the range forbids is refused: a handful of cells does not know more.
    needed = told.seconds_low
    if needed is not None and needed <= ask.budget_s:
        return
    asked, between = units.percent(ask.target, 2), units.percent(told.noise.between, 2)
    if needed is None:
        why = f"identical runs vary by {between} here; a longer run does not help"
        reachable = max(told.half_width, 2.2 * told.noise.between / 4.9)
        hint = f"ask for less: --until {units.percent(reachable, 1).replace(' ', '')}"
    else:
        takes, has = (units.duration(s * units.NS_PER_S) for s in (needed, ask.budget_s))
        why = f"with this noise it takes {takes} or more, and the budget is {has}"
        hint = f"--budget {max(1, math.ceil(needed / 60))}m, or omit --until for what the budget allows"
    raise InconclusiveError(f"cannot promise ±{asked} in every cell at", plan.stack.name, why, hint)
