"""The cells of a matrix as a table: what each gives, what was measured of it, and what its neighbours say."""

from __future__ import annotations

from collections.abc import Iterator

from strata.formats.exports.sheet import Field, Sheet, bounds, columns, interval
from strata.formats.exports.tables import HOW, how, utc
from strata.model.matrix import MatrixResult

COLUMNS = columns(
    f"""
run text
created_utc text = created
host text
where text
{HOW}
given text
{bounds("iops", "iops")}
bytes_per_second = rate [B/s]
{bounds("measured_iops", "as measured")}
{bounds("smoothed_iops", "as smoothed")}
visits count
seconds = seconds [s]
ios count
mean_ns = time.mean [ns]
p99_ns = time.p99 [ns]
kink truth
moved truth
generator_bound truth = generator bound
why text
"""
)


def sheet(*matrices: MatrixResult) -> Sheet:
    """A row a cell, also of one that has no value: ``why`` says the reason."""
    return Sheet.of(COLUMNS, (row for matrix in matrices for row in _rows(matrix)))


def _rows(matrix: MatrixResult) -> Iterator[tuple[Field, ...]]:
    head = (matrix.run, utc(matrix.created_unix_ns), matrix.environment.get("hostname"), matrix.where)
    for cell in matrix.cells:
        yield (
            *head,
            *how(cell.layer, cell.workload),
            cell.given.value,
            *interval(cell.iops),
            cell.bytes_per_second,
            *interval(cell.measured),
            *interval(cell.smoothed),
            cell.visits,
            cell.seconds,
            cell.ios,
            cell.mean_ns,
            cell.p99_ns,
            cell.kink,
            cell.moved,
            cell.generator_bound,
            cell.why,
        )
