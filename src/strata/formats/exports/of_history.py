"""Cells over time as a table: a row for each run of each cell."""

from __future__ import annotations

from collections.abc import Iterator

from strata.formats.exports.sheet import Declared, Sheet, bounds, interval, sheet_of
from strata.formats.exports.tables import utc
from strata.model.history import CellHistory, ChangePoint, History, HistoryPoint

Run = tuple[HistoryPoint, ChangePoint | None]
"""A run of a cell, and the change of level that begins with it."""
COLUMNS: Declared[CellHistory, Run] = (
    ("run text", lambda _, run: run[0].run),
    ("created_utc text = created", lambda _, run: utc(run[0].created_unix_ns)),
    ("place text", lambda cell, _: cell.identity),
    ("layer text", lambda cell, _: cell.layer),
    ("workload text", lambda cell, _: cell.workload_key),
    ("iops", lambda _, run: run[0].iops),
    ("p50_ns = time.p50 [ns]", lambda _, run: run[0].p50_ns),
    ("p99_ns = time.p99 [ns]", lambda _, run: run[0].p99_ns),
    ("rounds count", lambda _, run: run[0].rounds),
    (bounds("change_ratio", "after / before"), lambda _, run: interval(None if run[1] is None else run[1].ratio)),
    ("change_p", lambda _, run: None if run[1] is None else run[1].p),
)


def sheet(history: History) -> Sheet:
    """The change of a level stands with its first run; ``place`` tells equal cells of other hosts and stacks apart."""
    return sheet_of(COLUMNS, ((cell, run) for cell in history.cells for run in _runs(cell)))


def _runs(cell: CellHistory) -> Iterator[Run]:
    changes = {change.index: change for change in cell.changes}
    return ((point, changes.get(n)) for n, point in enumerate(cell.points))
