"""What is in the store: runs as reports or matrices, and the list of them.

Apart from what makes runs: a command that only reads loads neither the engine nor the probes.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from strata.errors import InconclusiveError, UsageError
from strata.model.analysis import Analysis
from strata.model.finding import Diagnosis, Verdict
from strata.model.matrix import MatrixResult
from strata.model.remembered import RunHead
from strata.model.run import Report, Run, RunStatus

if TYPE_CHECKING:
    from strata.store import Store


def opened(url: str | None) -> AbstractContextManager[Store]:
    """The SQL library takes longer to load than the rest of Strata: only commands that keep or read runs load it."""
    from strata.store import open_store

    return open_store(url)


def load_kept(run_id: str | None, store_url: str | None) -> Report | MatrixResult:
    """A run from the store as what it is: a report, or a matrix."""
    with opened(store_url) as store:
        run = store.load_run(run_id) if run_id else store.latest(None)
        if run is not None and run.plan.matrix is not None:
            known = store.matrix(run.id) if run.status is RunStatus.DONE else None
            if known is not None:
                return known
            from strata.app.matrix_result import matrix_result

            return matrix_result(run, store.cells(run.id))
    return load_report(run_id, store_url)


def load_report(run_id: str | None, store_url: str | None) -> Report:
    """A run from the store with its analysis; the newest when no id is given. Raises when there is no outcome."""
    with opened(store_url) as store:
        run = store.load_run(run_id) if run_id else store.latest(None)
        if run is None:
            raise UsageError("there is no run in the store", "", "", "measure one: strata diagnose PATH")
        outcome = store.outcome(run.id)
        if outcome is None:
            raise InconclusiveError(
                "run", run.id, f"it is {run.status.value} and has no verdict", f"strata measure --resume {run.id}"
            )
        return report_of(store, run, *outcome)


def list_runs(limit: int, store_url: str | None) -> tuple[tuple[RunHead, ...], dict[str, Verdict]]:
    """The newest runs first, and the verdicts of those that have one, by run id."""
    with opened(store_url) as store:
        runs = store.heads(limit)
        return runs, store.verdicts(run.id for run in runs)


def report_of(store: Store, run: Run, analysis: Analysis, diagnosis: Diagnosis) -> Report:
    """What is said of a run: itself, its cells, and the commands that repeat it."""
    from strata.app.repeat import repeat_commands

    return Report(
        run=run,
        results=store.cells(run.id),
        analysis=analysis,
        diagnosis=diagnosis,
        repeat=repeat_commands(run),
    )
