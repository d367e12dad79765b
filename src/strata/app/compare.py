"""Two runs of the store held against each other."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from strata.errors import InconclusiveError, UsageError
from strata.model.compared import ComparedRuns, EnvironmentField, Fairness, Side
from strata.model.remembered import SeriesName
from strata.model.run import Run
from strata.model.step_figures import StepFigures

if TYPE_CHECKING:
    from strata.store import Store

MARGIN = 0.05
NEWEST_ROWS = 100
"""Rows of a cell from which the noise between runs is learnt."""


def compare_runs(
    a: str,
    b: str | None,
    store_url: str | None,
    *,
    margin: float = MARGIN,
    between_runs: float | None = None,
    anyway: bool = False,
) -> ComparedRuns:
    """B (the newest run where it is not named) against A, by ids or their beginnings.

    ``between_runs``, what equal runs differ by as a share, is learnt from the store where it is not said and the store
    holds enough runs of these cells.

    Raises `InconclusiveError` where the environments make the figures those of two different measurements, unless
    ``anyway``, and where they have no cell in common; `UsageError` for runs that are not there.
    """
    from strata.store import open_store

    with open_store(store_url) as store:
        before = store.load_run(a)
        after = store.load_run(b) if b else store.latest()
        if after is None or after.id == before.id:
            raise UsageError(
                "cannot compare", before.id, "both runs are the same", "give another run: strata runs lists them"
            )
        from strata.analyse.two import LEVEL, by_cell, compare_cells

        environment = environments(before, after, anyway)
        left, right = by_cell(store.figures(before.id)), by_cell(store.figures(after.id))
        told = compare_cells(
            left, right, {c.workload.key: c.workload.label for c in after.plan.cells}, margin=margin,
            between_runs=between_runs,
            history=lambda names: others(store, [left[n][0] for n in names], {before.id, after.id}),
        )  # fmt: skip
    if not told.cells:
        raise InconclusiveError(
            "cannot compare", f"{before.id} with {after.id}", "they have no measured cell in common",
            "measure the same workloads at layers of the same names",
        )  # fmt: skip
    return ComparedRuns(
        a=_side(before),
        b=_side(after),
        margin=margin,
        level=LEVEL,
        between_runs=told.between_runs,
        learnt_from=told.learnt_from,
        noise=told.noise,
        environment=environment,
        cells=told.cells,
        only_a=tuple(n for n in left if n not in right),
        only_b=tuple(n for n in right if n not in left),
    )


def others(store: Store, cells: Iterable[StepFigures], but: Collection[str]) -> list[list[list[float]]]:
    """Of each cell the IOPS of the rounds of each other run, the oldest first. The two that are compared are left out:
    what they differ by is the question."""
    names = [SeriesName(layer=c.layer, workload_key=c.workload_key, identity=c.identity) for c in cells]
    return [[rounds for run, rounds in one.items() if run not in but] for one in store.rates(names, NEWEST_ROWS)]


def environments(a: Run, b: Run, anyway: bool) -> tuple[EnvironmentField, ...]:
    """Both, field by field. Raises `InconclusiveError` naming every field that makes them two different measurements,
    unless ``anyway``."""
    from strata.analyse.fair import compare_environments

    environment = compare_environments(a, b)
    preventing = tuple(f for f in environment if f.fairness is Fairness.PREVENTS)
    if preventing and not anyway:
        raise InconclusiveError(
            "cannot compare", f"{a.id} with {b.id}", "they are not measurements of the same thing",
            "measure again with the same settings, or compare anyway with --anyway",
            tuple(f"{f.name}: {f.a} and {f.b}" for f in preventing),
        )  # fmt: skip
    return environment


def _side(run: Run) -> Side:
    return Side(run=run.id, created_unix_ns=run.created_unix_ns, stack=run.plan.stack.name, rounds=run.plan.rounds)
