"""``strata export``, and the files of ``--csv`` and ``--jsonl``: runs of the store in the forms of other tools."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from strata.app.check import check_run
from strata.app.history import baselines_of, gate_runs
from strata.app.kept import load_kept, opened
from strata.app.live import feed_of, measured_now
from strata.app.outputs import Seal, new_folder, write_output
from strata.errors import InconclusiveError
from strata.formats.exports import Export, MeasuredRun, Tabular, cells_as, exported, form_of
from strata.formats.exports.openmetrics import write_with
from strata.formats.exports.tables import CELLS
from strata.model.live import LiveRun
from strata.model.matrix import MatrixResult
from strata.model.run import Report, Run, RunStatus
from strata.report.junit import gate_suite, laws_suite
from strata.text import controls
from strata.text.junit import CaseEnding, JunitCase, JunitSuite

__all__ = ["Tabular", "export", "write_cells", "write_export"]


def export(form: str, ids: Sequence[str], store_url: str | None, table: str = CELLS) -> Export:
    """What is written. ``ids``: none means the newest run.

    Raises `UsageError` for what is not there or cannot be exported.
    """
    load = _judged if form_of(form).judged else _measured
    return exported(form, [load(run_id, store_url) for run_id in ids or (None,)], table)


LOOKED_THROUGH = 3, 20
"""Finished runs that are looked through for one whose cells are told, few at first."""


def _has_cells(run: Run) -> bool:
    return run.plan.matrix is None and run.plan.scale is None


def metrics(store_url: str | None, look: Callable[[str], LiveRun | None] | None = None) -> str:
    """OpenMetrics of the newest finished run of the store that has cells with figures, and of what is measured now.

    ``look`` gives a run that is measured, for whoever follows them: else the whole record of each is read.
    """
    with opened(store_url) as store:
        newest = store.latest(RunStatus.DONE)
        if newest is not None and not _has_cells(newest):
            # A matrix has a map and a sweep a curve: the run before them is told, of the last so many.
            looked = (run for many in LOOKED_THROUGH for run in store.list_runs(many, RunStatus.DONE))
            newest = next(filter(_has_cells, looked), None)
    runs = [] if newest is None else [_measured(newest.id, store_url)]
    now = ((look or _look)(head.run) for head in measured_now())
    return write_with(runs, [run for run in now if run is not None])


def _look(run: str) -> LiveRun | None:
    feed = feed_of(run)
    return None if feed is None else feed.look()


def write_export(path: Path, made: Export) -> None:
    """An export as a file, as it would leave on stdout, or as a new folder. Raises as `write_output`."""
    if isinstance(made, Mapping):
        new_folder(path, {name: controls.lines(text) for name, text in made.items()})
    else:
        write_output(path, controls.lines(made) if isinstance(made, str) else made, Seal.BESIDE)


def write_cells(path: Path, form: str, found: Tabular) -> None:
    """The cells of what a command found as a file. Raises as `write_output`."""
    write_export(path, cells_as(form, found))


def _measured(run_id: str | None, store_url: str | None) -> MeasuredRun:
    found = load_kept(run_id, store_url)
    if isinstance(found, Report):
        return MeasuredRun(found.run, found.results, found.analysis, verdict=found.diagnosis.verdict)
    assert found.run is not None, "what is in the store has an id"
    with opened(store_url) as store:
        run, cells = store.load_run(found.run), store.cells(found.run)
    if isinstance(found, MatrixResult):
        return MeasuredRun(run, cells, matrix=found)
    return MeasuredRun(run, cells, scale=found)


def _judged(run_id: str | None, store_url: str | None) -> MeasuredRun:
    """A run with its laws and gates; one that was not finished has no gates."""
    checked = check_run(run_id, store_url)
    with opened(store_url) as store:
        run = store.load_run(checked.source)
        against = baselines_of(run, store) if run.status is RunStatus.DONE else ()
    suites = [laws_suite(checked)]
    for baseline in against:
        try:
            suites.append(gate_suite(gate_runs(baseline.name, [run.id], None, store_url)))
        except InconclusiveError as e:
            # Measured in another environment: that is no loss.
            case = JunitCase("strata.gate", baseline.name, CaseEnding.SKIPPED, e.headline)
            suites.append(JunitSuite(f"against {baseline.name}", (case,)))
    return MeasuredRun(run, suites=tuple(suites))
