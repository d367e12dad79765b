"""A finding row by row: what it predicts beside what was measured, its evidence with the cells, and what was tried."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from pydantic import Field

from strata import units
from strata.errors import UsageError
from strata.model.analysis import Analysis, Equivalence
from strata.model.base import RunId, Value
from strata.model.estimate import Estimate
from strata.model.experiment import ExperimentRecord, Refusal
from strata.model.finding import Evidence, Finding, RuledOut, Verdict
from strata.model.run import Report
from strata.report import answer, experiments, figures, words
from strata.report.paragraph import paragraph
from strata.report.text_layout import READING_WIDTH, Paint, table, wrap


class ExplainedRow(Value):
    """One slow row of the finding's layer: measured beside predicted.

    ``low..high`` is what the finding predicts of ``metric`` there, null where it says nothing; ``share`` how much of
    the row's loss it accounts for. ``below`` is what the layer is compared with, ``ratio`` the IOPS over its.
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
    """A finding, its rows, and the experiments in which its cause had predicted something."""

    number: int
    finding: Finding
    rows: tuple[ExplainedRow, ...]
    tried: tuple[ExperimentRecord, ...]


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


def _of(told: ExperimentRecord, finding: Finding) -> bool:
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
    predicted = "–"
    if row.low is not None and row.high is not None:
        low, high = _amount(row.low, row), _amount(row.high, row)
        predicted = low if low == high else units.span(low, high)
    ratio = "–" if row.ratio is None else f"{figures.ratio(row.ratio)} {figures.ratio_error(row.ratio)}".strip()
    return _amount(row.measured, row), predicted, ratio, _share(row, left)


def _share(row: ExplainedRow, left: tuple[str, ...]) -> str:
    if row.cell in left or row.share == 0:
        return "not explained"
    return "–" if row.share is None else figures.percent(row.share)


def _amount(value: float, row: ExplainedRow) -> str:
    """In the unit of the column's heading, or with its own."""
    return figures.amount(value, row.metric).removesuffix(" IOPS")


NAMED_CELLS = 2
"""So many cells of an observation are named; of more their number and their layers are said. JSON has all."""


def explained_text(found: Explained, report: Report, width: int, color: bool = False) -> str:
    """The paragraph, then each finding: its rows, its evidence, what was ruled out, what was tried."""
    paint, width = Paint(color), min(width, READING_WIDTH)
    out = [*wrap(found.paragraph, width)]
    for one in found.findings:
        out += ["", *_finding(one, report, width, paint)]
    if len(found.findings) == len(report.diagnosis.findings):
        others = [told for told in report.diagnosis.story if not any(told in one.tried for one in found.findings)]
        out += _experiments("Experiments for causes without a finding", others, report, width, paint)
    if found.refused:
        out += ["", paint("Experiments that were not possible", "bold")]
        out += [x for said in experiments.refused(report.diagnosis) for x in wrap(said, width, "  ", "    ")]
    if not found.findings:
        out += _ruled_out(report.diagnosis.ruled_out, width, paint)
    return "\n".join(out)


def _finding(one: ExplainedFinding, report: Report, width: int, paint: Paint) -> list[str]:
    """What the paragraph has said already is not said again."""
    f, verdict = one.finding, report.diagnosis.verdict
    title = answer.of_layer(f.layer, f.title)
    head = wrap(f"{title} · confidence {f.confidence:.2f} ({f.id})", width, f"{one.number}  ", "   ")
    out = paint.lines(head, "bold")
    out += wrap(f.explanation, width, "   ") if f != answer.own(report.diagnosis) else []
    out += _rows(one, width, paint)
    out += _evidence(f.evidence, width, paint)
    own = f.ruled_out if len(report.diagnosis.findings) > 1 else report.diagnosis.ruled_out
    out += _ruled_out(own, width, paint)
    out += _experiments("Experiments", one.tried, report, width, paint)
    return out if f.next_step == verdict.next_step else [*out, "", *wrap(f"Next: {f.next_step}", width, "   ", "     ")]


def _rows(one: ExplainedFinding, width: int, paint: Paint) -> list[str]:
    if not one.rows:
        return []
    name, *others = ROW_HEAD
    body = [[f" {row.cell.rpartition('/')[2]}", *row_cells(row, one.finding.left)] for row in one.rows]
    lines = table([f" {name}", *others], body, width, ROW_NUMERIC, elastic=frozenset({0}))
    return ["", paint(lines[0], "bold"), *lines[1:]]


def _evidence(some: tuple[Evidence, ...], width: int, paint: Paint) -> list[str]:
    out = ["", paint("   Evidence", "bold")] if some else []
    for e in some:
        out += wrap(f"{words.EVIDENCE[e.kind]}: {e.statement}", width, "   ", "     ")
        out += paint.lines(wrap(_cells(e.cells), width, "     "), "dim")
    return out


def _cells(cells: tuple[str, ...]) -> str:
    """``in share/randread-8KiB-qd1``, ``in 18 cells of share and file system``; empty where there are none."""
    if len(cells) <= NAMED_CELLS:
        return f"in {' and '.join(cells)}" if cells else ""
    layers = list(dict.fromkeys(cell.rpartition("/")[0] for cell in cells))
    return f"in {figures.plural(len(cells), 'cell')} of {' and '.join(layers)}"


def _experiments(title: str, some: Sequence[ExperimentRecord], report: Report, width: int, paint: Paint) -> list[str]:
    mine = [scene for scene, told in zip(experiments.scenes(report.diagnosis), report.diagnosis.story, strict=True)
            if told in some]  # fmt: skip
    out = ["", paint(f"   {title}", "bold")] if mine else []
    for scene in mine:
        out += wrap(f"{scene.changes} ({scene.where}): {scene.measured}", width, "   ", "     ")
        for f in scene.predictions:
            out += wrap(f"{f.who} predicted {f.said}: {f.result}", width, "     ", "       ")
    return out


def _ruled_out(some: Iterable[RuledOut], width: int, paint: Paint) -> list[str]:
    told = answer.ruled_out(some)
    out = ["", paint("   Ruled out", "bold")] if told else []
    return out + [x for causes, one in told for x in wrap(f"{causes}: {one.whole}", width, "   ", "     ")]
