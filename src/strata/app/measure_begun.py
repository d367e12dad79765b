"""A single measurement that is in the store from its beginning, because its clients keep its result until it is there.

Whoever asked may be killed: `resume_endpoint` fetches what all clients kept, and has measured what is missing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from strata.app.kept import opened
from strata.app.measure import OneResult, measure_endpoint
from strata.app.place import another_file
from strata.app.runner import Emit, Runner, check_nodes, check_resumable
from strata.engine import Engine, Timing, engine_for
from strata.errors import ClientsLost, SafetyRefusal, StoreError, StrataError, UsageError, until_resumed
from strata.host.mark import read_mark
from strata.host.runlock import held
from strata.model.endpoint import EndpointKind
from strata.model.plan import HEAD
from strata.model.run import Run, RunStatus
from strata.run.judge import cut_short


@contextmanager
def begun(runner: Runner, run: Run, store: str | None, *, anew: bool) -> Iterator[Runner]:
    """The runner with its run in the store; as it was where a new run cannot be put there: it is measured all the same.
    What ends the block by an error is how the run ended; where clients are gone, the error says how to go on.

    Raises what the store of a run raises that is not ``anew``, and `RunFailed` where another process measures it.
    """
    with ExitStack() as going:
        going.enter_context(held(run.id))
        try:
            runner.kept_in(going.enter_context(opened(store)))
            runner.begin(run, anew=anew)
        except StrataError:
            if not anew:
                raise
            runner.kept_in(None)
            runner.run = None
            yield runner
            return
        try:
            yield runner
        except ClientsLost as e:
            with suppress(StoreError):
                runner.keep(status=RunStatus.STOPPED, message=e.headline)
            hint = f"{until_resumed(e.there)}: strata measure --resume {run.id}"
            raise ClientsLost(e.what, e.where, e.why, hint, e.problems) from e
        except StrataError as e:
            # What clients still keep is fetched another time.
            status = RunStatus.FAILED if anew else RunStatus.STOPPED
            with suppress(StoreError):
                runner.keep(status=status, message=e.headline)
            raise
        done = runner.cells()
        if not any(c.result is not None and c.result.ops for c in done):
            status = RunStatus.FAILED if done else RunStatus.STOPPED
            runner.keep(status=status, message=next((c.error for c in done if c.error), None))


def resume_endpoint(
    run: Run, emit: Emit, *, engine: Engine | None, store: str | None, destructive: str | None
) -> OneResult:
    """The result that the clients of an interrupted measurement kept; where one of them has none, it is measured again.

    ``engine`` has the nodes of the run; None: its clients were of this machine. Raises as `measure_endpoint`,
    `RunFailed` where another engine, or other nodes, are there, and `UsageError` where the run has ended with a result.
    """
    plan, (cell,) = run.plan, run.plan.cells
    if not _unfinished(run, store):
        with opened(store) as kept:
            shows = "" if kept.outcome(run.id) is None else f"strata report {run.id} shows it; "
        raise UsageError("cannot resume", run.id, "it has ended", f"{shows}measure it again")
    endpoint = plan.stack.layers[0].target
    engine = engine or engine_for(run.environment.engine["name"], [endpoint], plan.placement)
    check_resumable(run, engine.identity())
    check_nodes(run, engine.identity())
    if endpoint.kind is EndpointKind.FILE:
        _check_file(run, Path(endpoint.path or ""))
    return measure_endpoint(
        [plan.stack.layers[0].endpoint],
        cell.workload,
        Timing(ramp_s=plan.ramp_s, runtime_s=plan.runtime_s, interval_s=plan.interval_s),
        # Of a file that is made; what is measured lies behind its mark.
        size=plan.file_size + (0 if endpoint.kind is EndpointKind.NULL else HEAD),
        keep=False,
        destructive=destructive,
        placement=plan.placement,
        emit=emit,
        engine=engine,
        store=store,
        resumed=run,
    )


def _unfinished(run: Run, store: str | None) -> bool:
    """It was cut off, stopped, or lost clients."""
    if run.status is RunStatus.RUNNING:
        return True
    with opened(store) as kept:
        found = [c.result for c in kept.cells(run.id) if c.result is not None]
    return run.status is RunStatus.STOPPED and all(result.lost or cut_short(result) for result in found)


def _check_file(run: Run, path: Path) -> None:
    """Raises `SafetyRefusal` where the file is not the one that was measured. Strata's own may be gone: it is made."""
    if run.mark is None:
        if not path.exists():
            why = "the file that this run measured was not made by Strata, and is gone"
            raise SafetyRefusal("will not make", str(path), why, "put it back, or start a new run")
    elif path.exists() and ((mark := read_mark(path)) is None or mark.uuid != run.mark):
        raise another_file(path)
