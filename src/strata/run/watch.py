"""What a run tells whoever watches it, worked out from the durations its events carry."""

from __future__ import annotations

from strata.model.plan import Cell, Plan, Step, StepKind
from strata.model.progress import Phase, Progress
from strata.model.result import CellResult


class Watch:
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

    def begins(self, step: Step, left: int) -> Progress:
        """The step is about to be measured; ``left`` steps remain, this one included."""
        return self._progress(step, left)

    def ended(self, step: Step, result: CellResult, left: int) -> Progress:
        """The step is committed; ``left`` steps remain after it."""
        measured = result.result
        return self._progress(step, left).model_copy(
            update={
                "finished": True,
                "iops": measured.iops if measured else None,
                "bytes_per_second": measured.bytes_per_second if measured else None,
                "error": result.error,
            }
        )

    def gave_up(self, step: Step, layer: str, error: str, left: int) -> Progress:
        """No more steps of that layer will be run."""
        return Progress(
            phase=_phase(step),
            layer=layer,
            message=f"layer {layer} is given up after failures in a row: {error}",
            seconds_left=self.seconds_left(left),
            error=error,
        )

    def _progress(self, step: Step, left: int) -> Progress:
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
