"""What can be resumed, and by which command: asked by whoever tells a user how to go on with a run."""

from __future__ import annotations

from strata.app.stacks import stack_of
from strata.model.endpoint import Endpoint
from strata.model.run import Run, RunStatus

GOING = (RunStatus.RUNNING, RunStatus.STOPPED)


def of_one_endpoint(run: Run) -> bool:
    """Whether it is one measurement at one endpoint, which `strata.app.measure_begun` can go on with."""
    plan = run.plan
    alone = run.data is None and plan.matrix is None and plan.scale is None and len(plan.steps) == 1
    return alone and plan.stack == stack_of([Endpoint.parse(plan.stack.layers[0].endpoint)])


def resumes(run: Run) -> bool:
    """Whether what is missing of it can be measured. Several targets at once are measured anew, and so are layers whose
    data was not written yet; a single measurement that failed has ended."""
    plan = run.plan
    if plan.matrix is not None or plan.scale is not None:
        return run.data is not None or len(plan.stack.layers) == 1
    return run.data is not None or (run.status in GOING and of_one_endpoint(run))


def next_step(run: Run) -> str:
    """The hint for a run that has not come to its end."""
    if not resumes(run):
        return "it cannot be resumed: measure it again"
    sweep = run.plan.scale
    if sweep is None:
        return f"strata measure --resume {run.id}"
    return f"strata scale --resume {run.id}" + (" --make 'COMMAND {}' --now N" if sweep.axis.commanded else "")
