"""A finding row by row: what it predicts beside what was measured, its evidence with the cells, and what was tried."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from strata import units
from strata.errors import UsageError
from strata.model.analysis import Analysis, Equivalence
from strata.model.base import RunId, Value
from strata.model.estimate import Estimate
from strata.model.experiment import Refusal, Told
from strata.model.finding import Finding, RuledOut, Verdict
from strata.model.run import Report
from strata.report import figures
from strata.report.paragraph import paragraph


class ExplainedRow(Value):
    """One slow row of the finding's layer: measured beside predicted.

    ``low..high`` is what the finding predicts of ``metric`` there, null where it says nothing; ``share`` how much of
    the row's loss it accounts for. ``below`` is what the layer is held against, ``ratio`` the IOPS over its.
    """

    cell: str
    workload: str
    metric: str
    measured: float
    below: str | None
    ratio: Estimate | None
    low: float | None
    high: float | None
    share: float | None


class ExplainedFinding(Value):
    """A finding, its rows, and the experiments in which its cause had foretold something."""

    number: int
    finding: Finding
    rows: tuple[ExplainedRow, ...]
    tried: tuple[Told, ...]


class Explained(Value):
    """What `strata explain --json` prints."""

    schema_version: Literal["strata.explain/1"] = Field(default="strata.explain/1", alias="schema")
    run: RunId
    verdict: Verdict
    paragraph: str
    findings: tuple[ExplainedFinding, ...]
    ruled_out: tuple[RuledOut, ...]
    refused: tuple[Refusal, ...]


def explained(report: Report, wanted: str | None = None) -> Explained:
    """Every finding of the run, or the one that is ``wanted``: its number from 1, or its id. Raises `UsageError`."""
    diagnosis = report.diagnosis
    every = tuple(
        ExplainedFinding(
            number=number, finding=f, rows=rows_of(report.analysis, f),
            tried=tuple(t for t in diagnosis.story if _of(t, f)),
        )
        for number, f in enumerate(diagnosis.findings, start=1)
    )  # fmt: skip
    return Explained(
        run=report.run.id,
        verdict=diagnosis.verdict,
        paragraph=paragraph(report.analysis, diagnosis),
        findings=every if wanted is None else (_wanted(every, wanted),),
        ruled_out=diagnosis.ruled_out,
        refused=diagnosis.refused,
    )


def _wanted(every: tuple[ExplainedFinding, ...], wanted: str) -> ExplainedFinding:
    for one in every:
        if wanted in (str(one.number), one.finding.id):
            return one
    known = ", ".join(f"{one.number} ({one.finding.id})" for one in every)
    raise UsageError("no such finding", wanted, "", f"available: {known}" if known else "this run has no findings")


def rows_of(analysis: Analysis, finding: Finding) -> tuple[ExplainedRow, ...]:
    """Those that it explains, then those of its layer that are slow too."""
    mine = {row.cell: row for row in finding.rows}
    held = {f"{c.layer}/{c.workload_key}": c for c in analysis.comparisons}
    slow = [k for k, c in held.items() if c.layer == finding.layer and c.verdict is Equivalence.ABOVE]
    found = []
    for key in dict.fromkeys((*mine, *finding.left, *slow)):
        layer, _, workload = key.rpartition("/")
        cell = analysis.summary(layer, workload)
        row, comparison = mine.get(key), held.get(key)
        if cell is None and row is None:
            continue
        found.append(
            ExplainedRow(
                cell=key,
                workload=cell.workload.label if cell is not None else workload,
                metric=row.metric if row is not None else "IOPS",
                measured=row.measured if row is not None else cell.iops.value if cell is not None else 0.0,
                below=comparison.below if comparison is not None else None,
                ratio=comparison.iops if comparison is not None else None,
                low=row.low if row is not None else None,
                high=row.high if row is not None else None,
                share=row.share if row is not None else None,
            )
        )
    return tuple(found)


def _of(told: Told, finding: Finding) -> bool:
    experiment = told.outcome.experiment
    predictions = experiment.predictions or (experiment.prediction,)
    return any((p.layer or experiment.layer, p.cause) == (finding.layer, finding.cause.value) for p in predictions)


ROW_HEAD = ("row", "IOPS", "predicted", "vs below", "share of loss")
ROW_NUMERIC = frozenset(range(1, len(ROW_HEAD)))


def row_table(analysis: Analysis, finding: Finding) -> tuple[tuple[str, ...], ...]:
    """A line for each slow row of the finding's layer, with the workload in words."""
    return tuple((row.workload, *row_cells(row, finding.left)) for row in rows_of(analysis, finding))


def row_cells(row: ExplainedRow, left: tuple[str, ...]) -> tuple[str, ...]:
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
