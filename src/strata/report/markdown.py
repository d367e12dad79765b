"""A report as GitHub-flavoured Markdown, for a pull request or a ticket."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence

from strata.model.finding import Finding
from strata.model.run import Report
from strata.report import answer, clients_text, experiments, figures, flushes, goals, ladder, words
from strata.report.check_lines import check_lines
from strata.report.explained import ROW_HEAD, row_table
from strata.report.ladder import MEANING, Ladder, Square
from strata.report.paragraph import paragraph
from strata.report.text_layout import clean

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~])")


def escape(text: str) -> str:
    """Text from outside as text: no markup, no HTML, no line break that would end a table row."""
    return _SPECIAL.sub(r"\\\1", clean(text.replace("\n", " "))).replace("&", "&amp;").replace("@", "&#64;")


def bullets(lines: Iterable[str]) -> str:
    """A list of texts from outside."""
    return "\n".join(f"- {escape(line)}" for line in lines)


def folded(summary: str, body: str, *, open_: bool = False) -> str:
    """``body`` behind its summary, which is HTML: what protects text in Markdown protects nothing there."""
    return f"<details{' open' if open_ else ''}><summary>{summary}</summary>\n\n{body}\n\n</details>"


def render(report: Report) -> str:
    """Verdict, table and caveats; a trailing newline is not added."""
    table = ladder.build(report)
    note = words.note(report.run)
    blocks = [_verdict(report), escape(words.head(report, table.common)), _table(table), _notes(table), _goals(report)]
    blocks.append(bullets(f"Flushes · {text}" for text in flushes.lines(report)))
    blocks += [_clients(report)]
    blocks += [f"**Note:** {escape(note)}" if note else "", _checks(report), _footer(report)]
    return "\n\n".join(b for b in blocks if b)


def _verdict(report: Report) -> str:
    diagnosis = report.diagnosis
    v = diagnosis.verdict
    lines = [f"### Strata: {escape(answer.line(v))} (confidence {v.confidence:.2f})"]
    if words.debug_build(report):
        lines.append("> **Debug build:** the engine is not optimised; these figures do not represent the storage.")
    if (unfinished := words.incomplete(report)) is not None:
        lines.append(f"> **{escape(unfinished)}**")
    lines.append(escape(paragraph(report.analysis, diagnosis)))
    lines += [_rows(report, finding) for finding in diagnosis.findings]
    lines += [_folded("Ruled out", answer.ruled_out_briefly(diagnosis.ruled_out), open_=False)]
    told = [experiments.line(scene) for scene in experiments.scenes(diagnosis)]
    told += [f"not possible: {why}" for why in experiments.refused(diagnosis)]
    lines += [_folded("Experiments", told, open_=v.confidence < experiments.UNFOLDED)]
    return "\n\n".join(x for x in lines if x)


def _rows(report: Report, finding: Finding) -> str:
    """The rows of a finding, measured beside predicted; nothing where it has none."""
    rows = [[escape(text) for text in row] for row in row_table(report.analysis, finding)]
    if not rows:
        return ""
    return folded(f"Measured and predicted: {html.escape(clean(finding.title))} ({len(rows)})", gfm(ROW_HEAD, rows, 1))


def _folded(title: str, lines: Sequence[str], *, open_: bool) -> str:
    """A list behind its title and its length; nothing where there is none."""
    return folded(f"{title} ({len(lines)})", bullets(lines), open_=open_) if lines else ""


def _goals(report: Report) -> str:
    if not report.analysis.goals:
        return ""
    lines = [f"**Goals of {escape(goals.title(report))}**", ""]
    for asked, results in goals.rows(report):
        lines.append(f"- {escape(asked)}: {escape('; '.join(goals.told(r) for r in results))}")
    return "\n".join(lines)


def _clients(report: Report) -> str:
    """The sum, each client, and how alike they were, of each step that several clients measured."""
    blocks = []
    for name, found in clients_text.of_results(report.results):
        lines = [
            f"{label} · {text}" for label, text in clients_text.client_lines(found) if label.split(" ")[0] != "client"
        ]
        rows = [[escape(text) for text in row] for row in clients_text.table(found)]
        blocks.append(f"**Clients of {escape(name)}**\n\n{bullets(lines)}\n\n{gfm(clients_text.HEAD, rows, 2)}")
    return "\n\n".join(blocks)


def _square(square: Square) -> str:
    if square.summary is None:
        return "–"
    if square.comparison is None:
        return figures.measured(square.summary.iops)
    ratio = square.comparison.iops
    text = f"{figures.ratio(ratio)} {figures.ratio_error(ratio)}".rstrip()
    return f"{text} {square.mark or ''}".rstrip()


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def gfm(head: Sequence[str], rows: Iterable[Sequence[str]], texts: int) -> str:
    """A table whose first ``texts`` columns stand left and the others right; cells are escaped already."""
    align = [":--" if i < texts else "--:" for i in range(len(head))]
    return "\n".join([_row(head), _row(align), *map(_row, rows)])


def _table(table: Ladder) -> str:
    if not table.rows:
        return ""
    head = ["pattern", *(f"{escape(c.layer)}<br>{escape(c.subtitle)}" for c in table.columns)]
    rows = [[escape(row.label), *(_square(s) for s in row.squares)] for row in table.rows]
    return gfm(head, rows, 1)


def _notes(table: Ladder) -> str:
    legend = " · ".join(f"{mark} {MEANING[mark]}" for mark in table.marks)
    return "  \n".join([x for x in [legend, *(f"– {escape(n)}" for n in table.notes())] if x])


def _checks(report: Report) -> str:
    lines = [f"- {'Cannot be true' if c.impossible else 'Caveat'} · {escape(c.text)}" for c in check_lines(report)]
    said = "\n".join(lines)
    return said if len(lines) <= 3 else folded(figures.plural(len(lines), "caveat"), said)


def _footer(report: Report) -> str:
    env = report.run.environment
    parts = [f"run {report.run.id}", f"Strata {env.strata_version}", figures.utc(report.run.created_unix_ns)]
    parts += report.run.label.words
    lines = [f"<sub>{escape(' · '.join(parts))}</sub>"]
    if report.repeat:
        commands = "\n".join(f"# {clean(what)}\n{clean(command)}" for what, command in report.repeat)
        fence = "`" * max(3, max((len(m) for m in re.findall(r"`+", commands)), default=0) + 1)
        lines.insert(0, folded("Reproduce", f"{fence}sh\n{commands}\n{fence}"))
    return "\n\n".join(lines)
