"""Cells over time as a table: a row for each run of each cell."""

from __future__ import annotations

from collections.abc import Iterator

from strata.formats.exports.sheet import Field, Sheet, bounds, columns, interval
from strata.formats.exports.tables import utc
from strata.model.history import History

COLUMNS = columns(
    f"""
run text
created_utc text = created
place text
layer text
workload text
iops
p50_ns = time.p50 [ns]
p99_ns = time.p99 [ns]
rounds count
{bounds("change_ratio", "after / before")}
change_p
"""
)


def sheet(history: History) -> Sheet:
    """The change of a level stands with its first run; ``place`` tells equal cells of other hosts and stacks apart."""
    return Sheet.of(COLUMNS, _rows(history))


def _rows(history: History) -> Iterator[tuple[Field, ...]]:
    for cell in history.cells:
        changes = {change.index: change for change in cell.changes}
        for n, point in enumerate(cell.points):
            change = changes.get(n)
            yield (
                point.run,
                utc(point.created_unix_ns),
                cell.identity,
                cell.layer,
                cell.workload_key,
                point.iops,
                point.p50_ns,
                point.p99_ns,
                point.rounds,
                *interval(None if change is None else change.ratio),
                None if change is None else change.p,
            )
