"""Two runs of the store compared."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from strata.errors import InconclusiveError, UsageError
from strata.model.compared import ComparedRuns, EnvironmentField, Fairness, Side
from strata.model.margin import MARGIN
from strata.model.remembered import SeriesName
from strata.model.run import RunBrief
from strata.model.step_figures import StepFigures

if TYPE_CHECKING:
    from strata.store import Store

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
        reference = _Reference(store, a, margin, between_runs)
        after = store.load_brief(b) if b else store.latest()
        return reference.against(after, anyway=anyway)


def compare_each(
    a: str, b: Sequence[str], store_url: str | None, *, whole_most: int, anyway: bool = False
) -> tuple[list[ComparedRuns], bool]:
    """Each of the others against A, which is read once, and whether they are whole: with more cells than ``whole_most``
    in all, rates and verdicts without where the latency moved. Raises as `compare_runs`."""
    from strata.store import open_store

    with open_store(store_url) as store:
        reference = _Reference(store, a, MARGIN, None)
        whole = reference.cells * len(b) <= whole_most
        return [reference.against(store.load_brief(name), anyway=anyway, whole=whole) for name in b], whole


class _Reference:
    """A run that others are compared with, and what the store knows of its cells."""

    def __init__(self, store: Store, a: str, margin: float, between_runs: float | None) -> None:
        from strata.analyse.two import by_cell

        self._store, self._margin, self._between_runs = store, margin, between_runs
        self._run = store.load_run(a)
        self._cells = by_cell(store.figures(self._run.id))
        # What is compared is in both; a key names one label.
        self._labels = {c.workload.key: c.workload.label for c in self._run.plan.cells}
        self._rates = Rates(store)

    @property
    def cells(self) -> int:
        """How many it has."""
        return len(self._cells)

    def against(self, after: RunBrief | None, *, anyway: bool, whole: bool = True) -> ComparedRuns:
        from strata.analyse.stats import LEVEL
        from strata.analyse.two import by_cell, compare_cells

        before, left = self._run, self._cells
        if after is None or after.id == before.id:
            raise UsageError(
                "cannot compare", before.id, "both runs are the same", "give another run: strata runs lists them"
            )
        environment = environments(before, after, anyway)
        right = by_cell(self._store.figures(after.id))
        told = compare_cells(
            left, right, self._labels, margin=self._margin, between_runs=self._between_runs, whole=whole,
            history=lambda names: self._rates.others([left[n][0] for n in names], {before.id, after.id}),
        )  # fmt: skip
        if not told.cells:
            raise InconclusiveError(
                "cannot compare", f"{before.id} with {after.id}", "they have no measured cell in common",
                "measure the same workloads at layers of the same names",
            )  # fmt: skip
        return ComparedRuns(
            a=_side(before),
            b=_side(after),
            margin=self._margin,
            level=LEVEL,
            between_runs=told.between_runs,
            learnt_from=told.learnt_from,
            noise=told.noise,
            environment=environment,
            cells=told.cells,
            only_a=tuple(n for n in left if n not in right),
            only_b=tuple(n for n in right if n not in left),
        )


class Rates:
    """The rates of cells in the store, each read once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[SeriesName, dict[str, list[float]]] = {}

    def others(self, cells: Iterable[StepFigures], but: Collection[str]) -> list[list[list[float]]]:
        """Of each cell the IOPS of the rounds of each other run, the oldest first. The two that are compared are left
        out: what they differ by is the question."""
        names = [SeriesName(layer=c.layer, workload_key=c.workload_key, identity=c.identity) for c in cells]
        new = [n for n in dict.fromkeys(names) if n not in self._known]
        self._known |= zip(new, self._store.rates(new, NEWEST_ROWS), strict=True) if new else ()
        return [[rounds for run, rounds in self._known[name].items() if run not in but] for name in names]


def environments(a: RunBrief, b: RunBrief, anyway: bool) -> tuple[EnvironmentField, ...]:
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


def _side(run: RunBrief) -> Side:
    return Side(run=run.id, created_unix_ns=run.created_unix_ns, stack=run.plan.stack.name, rounds=run.plan.rounds)
