"""What happens to a run, and what the run asks for: values; and what says the one to the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from strata.model.plan import Cell, Step
from strata.model.precondition import Preconditioned
from strata.model.progress import Progress
from strata.model.result import CellResult
from strata.model.run import RunStatus


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
    seconds: float
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
