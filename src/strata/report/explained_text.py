"""A finding row by row, for the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from strata.model.experiment import Told
from strata.model.finding import Evidence, RuledOut
from strata.model.run import Report
from strata.report import answer, figures, story, words
from strata.report.explained import ROW_HEAD, ROW_NUMERIC, Explained, ExplainedFinding, row_cells
from strata.report.textual import READING_WIDTH, Paint, table, wrap

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
        out += [x for said in story.refused(report.diagnosis) for x in wrap(said, width, "  ", "    ")]
    if not found.findings:
        out += _ruled_out(report.diagnosis.ruled_out, width, paint)
    return "\n".join(out)


def _finding(one: ExplainedFinding, report: Report, width: int, paint: Paint) -> list[str]:
    """What the paragraph has said already is not said again."""
    f, verdict = one.finding, report.diagnosis.verdict
    title = answer.of_layer(f.layer, f.title)
    out = [paint(x, "bold") for x in wrap(f"{title} · confidence {f.confidence:.2f} ({f.id})", width,
                                          f"{one.number}  ", "   ")]  # fmt: skip
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
        out += [paint(x, "dim") for x in wrap(_cells(e.cells), width, "     ")]
    return out


def _cells(cells: tuple[str, ...]) -> str:
    """``in share/randread-8KiB-qd1``, ``in 18 cells of share and file system``; empty where there are none."""
    if len(cells) <= NAMED_CELLS:
        return f"in {' and '.join(cells)}" if cells else ""
    layers = list(dict.fromkeys(cell.rpartition("/")[0] for cell in cells))
    return f"in {figures.plural(len(cells), 'cell')} of {' and '.join(layers)}"


def _experiments(title: str, some: Sequence[Told], report: Report, width: int, paint: Paint) -> list[str]:
    mine = [scene for scene, told in zip(story.scenes(report.diagnosis), report.diagnosis.story, strict=True)
            if told in some]  # fmt: skip
    out = ["", paint(f"   {title}", "bold")] if mine else []
    for scene in mine:
        out += wrap(f"{scene.changes} ({scene.where}): {scene.measured}", width, "   ", "     ")
        for f in scene.foretold:
            out += wrap(f"{f.who} predicted {f.said}: {f.fate}", width, "     ", "       ")
    return out


def _ruled_out(some: Iterable[RuledOut], width: int, paint: Paint) -> list[str]:
    told = answer.ruled_out(some)
    out = ["", paint("   Ruled out", "bold")] if told else []
    return out + [x for causes, one in told for x in wrap(f"{causes}: {one.whole}", width, "   ", "     ")]
