"""A single measurement that is in the store from its beginning, because its clients keep its result until it is there.

Whoever asked may be killed: `resume_endpoint` fetches what all clients kept, and has measured what is missing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from strata import units
from strata.app.kept import opened
from strata.app.measure import OneResult, measure_endpoint
from strata.app.place import another_file
from strata.app.runner import Emit, Runner, check_nodes, check_resumable
from strata.app.stacks import stack_of
from strata.engine import Engine, Timing, engine_for
from strata.errors import ClientsLost, StoreError, StrataError
from strata.host.mark import read_mark
from strata.host.runlock import held
from strata.model.endpoint import Endpoint, EndpointKind
from strata.model.run import Run, RunStatus


@contextmanager
def begun(runner: Runner, run: Run, store: str | None, *, anew: bool) -> Iterator[Runner]:
    """The runner with its run in the store; as it was where the store gives trouble: what is measured is not lost for
    it. What ends the block by an error is how the run ended; where clients are gone, the error says how to go on.

    Raises `RunFailed` where another process measures the run.
    """
    with ExitStack() as going:
        going.enter_context(held(run.id))
        try:
            runner.kept_in(going.enter_context(opened(store)))
            runner.begin(run, anew=anew)
        except StoreError:
            runner.kept_in(None)
            runner.run = None
            yield runner
            return
        try:
            yield runner
        except ClientsLost as e:
            runner.keep(status=RunStatus.STOPPED, message=e.headline)
            hint = f"once the clients are back: strata measure --resume {run.id}"
            raise ClientsLost(e.what, e.where, e.why, hint, e.problems) from e
        except StrataError as e:
            runner.keep(status=RunStatus.FAILED, message=e.headline)
            raise
        done = runner.cells()
        if not any(c.result is not None and c.result.ops for c in done):
            status = RunStatus.FAILED if done else RunStatus.STOPPED
            runner.keep(status=status, message=next((c.error for c in done if c.error), None))


def of_one_endpoint(run: Run) -> bool:
    """Whether `resume_endpoint` can go on with it."""
    plan = run.plan
    alone = run.data is None and plan.matrix is None and plan.scale is None and len(plan.steps) == 1
    return alone and plan.stack == stack_of([Endpoint.parse(plan.stack.layers[0].endpoint)])


def resume_endpoint(
    run: Run, emit: Emit, *, engine: Engine | None, store: str | None, destructive: str | None
) -> OneResult:
    """The result that the clients of an interrupted measurement kept; where one of them has none, it is measured again.

    ``engine`` has the nodes of the run; None: its clients were of this machine. Raises as `measure_endpoint`, and
    `RunFailed` where another engine, or other nodes, are there.
    """
    plan, (cell,) = run.plan, run.plan.cells
    endpoint = plan.stack.layers[0].target
    engine = engine or engine_for(run.environment.engine["name"], [endpoint], plan.placement)
    check_resumable(run, engine.identity())
    check_nodes(run, engine.identity())
    if endpoint.kind is EndpointKind.FILE and run.mark is not None:
        mark = read_mark(Path(endpoint.path or ""))
        if mark is not None and mark.uuid != run.mark:
            raise another_file(endpoint.path)
    return measure_endpoint(
        [plan.stack.layers[0].endpoint],
        cell.workload,
        Timing(ramp_s=plan.ramp_s, runtime_s=plan.runtime_s, interval_s=plan.interval_s),
        # Behind the mark lies what is measured.
        size=plan.file_size + (units.MIB if run.mark is not None else 0),
        keep=False,
        destructive=destructive,
        placement=plan.placement,
        emit=emit,
        engine=engine,
        store=store,
        resumed=run,
    )
