"""One step as a strategy. When it ends is said by who hears its intervals: after its time, or when it is precise."""

from __future__ import annotations

from strata.model.plan import Plan
from strata.model.run import RunStatus
from strata.run.execute import (
    Commit,
    Committed,
    Event,
    Finish,
    Instruction,
    Interrupted,
    Measure,
    Started,
    StepDone,
    StepFailed,
)


class Once:
    """The one step of ``plan``. What goes wrong with it is the user's to hear as it is: `handle` raises it."""

    def __init__(self, plan: Plan) -> None:
        (self._step,), (self._cell,) = plan.steps, plan.cells

    def handle(self, event: Event) -> tuple[Instruction, ...]:
        """What to do now."""
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
