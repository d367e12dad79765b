"""The cells of a matrix as a table: what each gives, what was measured of it, and what its neighbours say."""

from __future__ import annotations

from strata.formats.exports.sheet import Declared, Sheet, bounds, interval, sheet_of
from strata.formats.exports.tables import HOW, how, utc
from strata.model.matrix import MatrixCell, MatrixResult

COLUMNS: Declared[MatrixResult, MatrixCell] = (
    ("run text", lambda matrix, _: matrix.run),
    ("created_utc text = created", lambda matrix, _: utc(matrix.created_unix_ns)),
    ("host text", lambda matrix, _: matrix.environment.get("hostname")),
    ("where text", lambda matrix, _: matrix.where),
    (HOW, lambda _, cell: how(cell.layer, cell.workload)),
    ("given text", lambda _, cell: cell.given.value),
    (bounds("iops", "iops"), lambda _, cell: interval(cell.iops)),
    ("bytes_per_second = rate [B/s]", lambda _, cell: cell.bytes_per_second),
    (bounds("measured_iops", "as measured"), lambda _, cell: interval(cell.measured)),
    (bounds("smoothed_iops", "as smoothed"), lambda _, cell: interval(cell.smoothed)),
    ("visits count", lambda _, cell: cell.visits),
    ("seconds = seconds [s]", lambda _, cell: cell.seconds),
    ("ios count", lambda _, cell: cell.ios),
    ("mean_ns = time.mean [ns]", lambda _, cell: cell.mean_ns),
    ("p99_ns = time.p99 [ns]", lambda _, cell: cell.p99_ns),
    ("kink truth", lambda _, cell: cell.kink),
    ("moved truth", lambda _, cell: cell.moved),
    ("generator_bound truth = generator bound", lambda _, cell: cell.generator_bound),
    ("why text", lambda _, cell: cell.why),
)


def sheet(*matrices: MatrixResult) -> Sheet:
    """A row a cell, also of one that has no value: ``why`` says the reason."""
    return sheet_of(COLUMNS, ((matrix, cell) for matrix in matrices for cell in matrix.cells))
