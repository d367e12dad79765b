"""The rows of a finding as cells of a table: measured beside predicted. All forms place them."""

from __future__ import annotations

from strata import units
from strata.model.analysis import Analysis
from strata.model.finding import Finding
from strata.report import figures
from strata.report.explained import ExplainedRow, rows_of

HEAD = ("row", "IOPS", "predicted", "vs below", "share of loss")
NUMERIC = frozenset(range(1, len(HEAD)))


def table(analysis: Analysis, finding: Finding) -> tuple[tuple[str, ...], ...]:
    """A line for each slow row of the finding's layer, with the workload in words."""
    return tuple((row.workload, *cells(row, finding.left)) for row in rows_of(analysis, finding))


def cells(row: ExplainedRow, left: tuple[str, ...]) -> tuple[str, ...]:
    """What stands beside the row's name. ``left``: the rows that nothing explains."""
    foretold = "–"
    if row.low is not None and row.high is not None:
        low, high = _amount(row.low, row), _amount(row.high, row)
        foretold = low if low == high else units.span(low, high)
    ratio = "–" if row.ratio is None else f"{figures.ratio(row.ratio)} {figures.ratio_error(row.ratio)}".strip()
    return _amount(row.measured, row), foretold, ratio, _share(row, left)


def _share(row: ExplainedRow, left: tuple[str, ...]) -> str:
    if row.cell in left or row.share == 0:
        return "not explained"
    return "–" if row.share is None else figures.percent(row.share)


def _amount(value: float, row: ExplainedRow) -> str:
    """In the unit of the column's heading, or with its own."""
    return figures.amount(value, row.metric).removesuffix(" IOPS")
