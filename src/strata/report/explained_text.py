"""A finding row by row, for the terminal."""

from __future__ import annotations

from strata import units
from strata.model.run import Report
from strata.report import answer, figures, story, words
from strata.report.explained import Explained, ExplainedFinding, ExplainedRow
from strata.report.textual import Paint, table, wrap


def explained_text(found: Explained, report: Report, width: int, color: bool = False) -> str:
    """The paragraph, then each finding: its rows, its evidence, what was ruled out, what was tried."""
    paint = Paint(color)
    out = [*wrap(found.paragraph, width)]
    for one in found.findings:
        out += ["", *_finding(one, report, width, paint)]
    if found.refused:
        out += ["", paint("Could not be tried", "bold")]
        out += [x for said in story.refused(report.diagnosis) for x in wrap(said, width, "  ", "    ")]
    if not found.findings:
        out += ["", *_ruled_out(answer.ruled_out(report.diagnosis), width, paint)]
    return "\n".join(out)


def _finding(one: ExplainedFinding, report: Report, width: int, paint: Paint) -> list[str]:
    f = one.finding
    head = f"{f.layer} · {f.title} · confidence {f.confidence:.2f} ({f.id})"
    out = [paint(x, "bold") for x in wrap(head, width, f"{one.number}  ", "   ")]
    out += wrap(f.explanation, width, "   ")
    out += _rows(one.rows, f.left, width, paint)
    if f.evidence:
        out += ["", paint("   Evidence", "bold")]
    for e in f.evidence:
        out += wrap(f"{words.EVIDENCE[e.kind]}: {e.statement}", width, "   ", "     ")
        out += [paint(x, "dim") for x in wrap(_cells(e.cells), width, "     ")] if e.cells else []
    own = f.ruled_out if len(report.diagnosis.findings) > 1 else report.diagnosis.ruled_out
    out += _ruled_out(tuple((r.cause.words, r.because) for r in own), width, paint)
    mine = [s for s, told in zip(story.scenes(report.diagnosis), report.diagnosis.story, strict=True)
            if told in one.tried]  # fmt: skip
    if mine:
        out += ["", paint("   Experiments", "bold")]
    for scene in mine:
        out += wrap(f"{scene.changes} ({scene.where}): {scene.measured}", width, "   ", "     ")
        for f_ in scene.foretold:
            out += wrap(f"{f_.cause} had said {f_.said}: it {f_.fate}", width, "     ", "       ")
    return [*out, "", *wrap(f"Next: {f.next_step}", width, "   ", "     ")]


def _rows(rows: tuple[ExplainedRow, ...], left: tuple[str, ...], width: int, paint: Paint) -> list[str]:
    if not rows:
        return []
    head = [" row", "IOPS", "predicted", "vs below", "of its loss"]
    lines = table(head, [_row(row, left) for row in rows], width, frozenset({1, 2, 3, 4}), elastic=frozenset({0}))
    return ["", paint(lines[0], "bold"), *lines[1:]]


def _row(row: ExplainedRow, left: tuple[str, ...]) -> list[str]:
    foretold = "–"
    if row.low is not None and row.high is not None:
        foretold = units.span(_amount(row.low, row), _amount(row.high, row))
    share = "not explained" if row.cell in left else "–" if row.share is None else figures.percent(row.share)
    ratio = "–" if row.ratio is None else f"{figures.ratio(row.ratio)} {figures.ratio_error(row.ratio)}".strip()
    return [f" {row.cell.rpartition('/')[2]}", _amount(row.measured, row), foretold, ratio, share]


def _amount(value: float, row: ExplainedRow) -> str:
    """In the unit of the column's heading, or with its own."""
    return figures.amount(value, row.metric).removesuffix(" IOPS")


def _cells(cells: tuple[str, ...]) -> str:
    return f"in {', '.join(cells)}"


def _ruled_out(some: tuple[tuple[str, str], ...], width: int, paint: Paint) -> list[str]:
    if not some:
        return []
    out = ["", paint("   Ruled out", "bold")]
    return out + [x for cause, because in some for x in wrap(f"{cause}: {because}", width, "   ", "     ")]
