"""Two runs of the store held against each other."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING

from strata.errors import InconclusiveError, UsageError
from strata.model.compared import ComparedRuns, EnvironmentField, Fairness, Side
from strata.model.remembered import SeriesName
from strata.model.run import Run
from strata.model.step_figures import StepFigures

if TYPE_CHECKING:
    from strata.store import Store

MARGIN = 0.05
LOOKED_AT = 8
NEWEST_ROWS = 100
"""Cells, and rows of each, from which the noise between runs is learnt."""


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
        left = store.load_run(a)
        right = store.load_run(b) if b else store.latest()
        if right is None or right.id == left.id:
            raise UsageError("nothing to compare", left.id, "with but itself", "name another run: strata runs lists")
        return compared(store, left, right, margin=margin, between_runs=between_runs, anyway=anyway)


def compared(
    store: Store, a: Run, b: Run, *, margin: float, between_runs: float | None = None, anyway: bool = False
) -> ComparedRuns:
    """As `compare_runs`, of loaded runs."""
    from strata.analyse.fair import compare_environments
    from strata.analyse.two import LEVEL, by_cell, compare_cells

    environment = compare_environments(a, b)
    refuse_unfair(f"{a.id} with {b.id}", environment, anyway)
    left, right = by_cell(store.figures(a.id)), by_cell(store.figures(b.id))
    labels = {w.key: w.label for run in (b, a) for w in run.plan.workloads}
    learnt_from = None
    if between_runs is None:
        between_runs, learnt_from = _learnt(store, [f for n, f in left.items() if n in right])
    cells, noise = compare_cells(left, right, labels, margin=margin, between_runs=between_runs)
    if not cells:
        raise InconclusiveError(
            "cannot compare", f"{a.id} with {b.id}", "they have no measured cell in common",
            "a cell is a layer's name and a workload: measure the same ones",
        )  # fmt: skip
    return ComparedRuns(
        a=_side(a),
        b=_side(b),
        margin=margin,
        level=LEVEL,
        between_runs=between_runs,
        learnt_from=learnt_from,
        noise=noise,
        environment=environment,
        cells=cells,
        only_a=tuple(n for n in left if n not in right),
        only_b=tuple(n for n in right if n not in left),
    )


def _learnt(store: Store, cells: Sequence[Sequence[StepFigures]]) -> tuple[float | None, int | None]:
    """(what runs of these cells differ by beside the noise of their rounds, from how many runs); None with too few.

    Of a few cells, spread over the plan: all of a run's cells share most of it.
    """
    from strata.analyse.changes import step_noise
    from strata.analyse.rows import error_of_means

    picked = cells[:: max(1, len(cells) // LOOKED_AT)][:LOOKED_AT]
    found, counts, within = [], [], []
    for rounds in picked:
        first = rounds[0]
        name = SeriesName(layer=first.layer, workload_key=first.workload_key, identity=first.identity)
        runs: dict[str, list[float]] = {}
        for step in store.history(name, newest=NEWEST_ROWS):
            if step.kind == "measure":
                runs.setdefault(step.run_id, []).append(step.iops)
        noise = step_noise([math.exp(sum(map(math.log, v)) / len(v)) for v in runs.values()])
        if noise is not None:
            found.append(noise)
            counts.append(len(runs))
            within.append(error_of_means(list(runs.values())))
    if not found:
        return None, None
    square = statistics.median(found) ** 2 - statistics.median(within) ** 2
    return math.sqrt(max(0.0, square)), min(counts)


def refuse_unfair(which: str, environment: tuple[EnvironmentField, ...], anyway: bool) -> None:
    """Raises `InconclusiveError` naming every field that makes them two different measurements."""
    preventing = tuple(f for f in environment if f.fairness is Fairness.PREVENTS)
    if preventing and not anyway:
        raise InconclusiveError(
            "cannot compare", which, "they are not measurements of the same thing",
            "measure again alike, or compare all the same with --anyway",
            tuple(f"{f.name}: {f.a} and {f.b}" for f in preventing),
        )  # fmt: skip


def _side(run: Run) -> Side:
    return Side(run=run.id, created_unix_ns=run.created_unix_ns, stack=run.plan.stack.name, rounds=run.plan.rounds)
