"""A report for the terminal: the table, the verdict, what proved it, what to do.

Columns of the ladder that do not fit beside each other are stacked; a cell is never broken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from strata import units
from strata.model.finding import Diagnosis, Finding, VerdictKind
from strata.model.profile import GoalOutcome
from strata.model.run import Report
from strata.report import answer, experiments, figures, flushes, goals, ladder, words
from strata.report.check_lines import CheckLine, check_lines
from strata.report.ladder import MEANING, Ladder, LadderColumn, LadderRow, ResultSign, Square
from strata.report.paragraph import gain
from strata.report.survey_compare_text import machines_lines
from strata.report.text_layout import READING_WIDTH, Paint, cell_len, clean, field, left, right, wrap, wrap_cell

IMPOSSIBLE_EACH_KIND = 3
RULED_OUT = 5
"""Causes that were ruled out, each on its line; `strata explain` has all."""
_VERDICT_STYLE = {
    VerdictKind.MEDIUM: "green",
    VerdictKind.HEALTHY: "green",
    VerdictKind.LAYER: "red",
    VerdictKind.GENERATOR: "yellow",
    VerdictKind.IMPOSSIBLE: "red",
    VerdictKind.INCONCLUSIVE: "yellow",
    VerdictKind.APPLICATION: "yellow",
    VerdictKind.IDLE: "green",
}
_GOAL_STYLE = {GoalOutcome.MISSED: "red", GoalOutcome.MET: "green", GoalOutcome.GOOD: "green"}


def render(report: Report, width: int, color: bool, saved_as: str | None = None) -> str:
    """The whole report in at most ``width`` columns, without a trailing newline.

    ``saved_as`` is the file the full report was written to, named in the last line. ``color`` adds ANSI codes;
    whether to use them (NO_COLOR, a terminal) is the caller's to know.
    """
    paint = Paint(color)
    text = min(width, READING_WIDTH)
    table = ladder.build(report)
    blocks = [
        paint.lines(wrap(words.head(report, table.common), width), "bold") + _banners(report, text, paint),
        ladder_lines(table, width, paint) + _note(report, text, paint),
        [] if report.run.nodes is None else machines_lines(report.run.nodes, text, paint),
        _goals(report, text, paint),
        _verdict(report, text, paint),
        _checks(check_lines(report), text, paint),
        _footer(report, text, saved_as, paint),
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block)


GAP = 2
RICH_WIDTH = 120
_STYLES: dict[ResultSign, tuple[str, ...]] = {
    ResultSign.SAME: ("green",),
    ResultSign.SLOWER: ("yellow", "bold"),
    ResultSign.MUCH_SLOWER: ("red", "bold"),
    ResultSign.FASTER: ("cyan", "bold"),
    ResultSign.UNSURE: ("yellow",),
}


@dataclass(frozen=True)
class _Drawn:
    """A column ready to print: heading lines and one text per row, all ``width`` cells wide."""

    head: tuple[str, ...]
    cells: tuple[str, ...]
    styles: tuple[tuple[str, ...], ...]
    width: int


def _parts(square: Square, level: int) -> tuple[str, tuple[str, ...]]:
    """The kind of a square and its parts: level 0 is the least, 2 the most that is shown."""
    if square.summary is None:
        return "empty", ("–",)
    if square.comparison is None:
        s = square.summary
        more: tuple[str, ...] = ()
        if level >= 1:
            more += (figures.share_error(s.iops), units.rate(s.bytes_per_second.value))
        if level >= 2 and "50" in s.latency_ns:
            more += (f"p50 {units.duration(s.latency_ns['50'].value)}",)
        return "absolute", (units.count(s.iops.value), "IOPS", *more)
    c = square.comparison
    base = (figures.ratio(c.iops), figures.ratio_error(c.iops), square.mark or "")
    return "ratio", (*base, figures.signed_duration(c.added_ns.value)) if level >= 2 else base


def _column_cells(squares: Sequence[Square], level: int) -> list[str]:
    """Aligns the parts of equal kind under each other: figures to the right, words and marks to the left."""
    made = [_parts(s, level) for s in squares]
    sizes: dict[tuple[str, int], int] = {}
    for kind, parts in made:
        for i, part in enumerate(parts):
            sizes[kind, i] = max(sizes.get((kind, i), 0), cell_len(part))

    def one(kind: str, parts: tuple[str, ...]) -> str:
        words = {"absolute": {1}, "ratio": {1, 2}, "empty": {0}}[kind]
        return " ".join(
            (left if i in words else right)(p, sizes[kind, i]) for i, p in enumerate(parts) if sizes[kind, i]
        ).rstrip()

    return [one(kind, parts) for kind, parts in made]


def _draw(column: LadderColumn, squares: Sequence[Square], level: int, most: int) -> _Drawn:
    cells = _column_cells(squares, level)
    titles = (clean(column.layer), clean(column.subtitle))
    widest = max(cell_len(c) for c in cells)
    title = max(cell_len(t) for t in titles)
    width = max(widest, min(title, most))
    head = (*wrap_cell(titles[0], width), *wrap_cell(titles[1], width))
    styles = tuple(_STYLES[s.mark] if s.mark else () for s in squares)
    return _Drawn(head, tuple(cells), styles, width)


def _short(shape: str) -> str:
    return shape.replace("depth ", "qd").replace(" threads", "t").replace(" KiB", "K").replace(" MiB", "M")


def _labels(rows: Sequence[LadderRow], narrow: bool) -> list[str]:
    """Pattern and shape in two columns of their own."""
    wide = max(cell_len(r.workload.pattern) for r in rows)
    return [
        f"{left(r.workload.pattern, wide)}  {_short(r.shape) if narrow else r.shape}".rstrip()
        if r.shape
        else r.workload.pattern
        for r in rows
    ]


def _blocks(columns: Sequence[_Drawn], room: int) -> list[list[_Drawn]]:
    blocks: list[list[_Drawn]] = [[]]
    for column in columns:
        used = sum(c.width + GAP for c in blocks[-1])
        if blocks[-1] and used + column.width > room:
            blocks.append([])
        blocks[-1].append(column)
    return blocks


def _fitting(ladder: Ladder, width: int) -> tuple[list[str], list[list[_Drawn]]]:
    """Labels and blocks of the richest form that fits in one block; the barest one in several where none does."""
    squares = [[row.squares[i] for row in ladder.rows] for i in range(len(ladder.columns))]
    levels = (2, 1, 0) if width >= RICH_WIDTH else (0,)
    # (how much a square shows, shortened shapes, how wide a heading may make a column)
    forms = [(level, False, 26) for level in levels] + [(0, False, 16), (0, True, 16), (0, True, 13)]
    labels: list[str] = []
    blocks: list[list[_Drawn]] = []
    for level, narrow, heading in forms:
        labels = _labels(ladder.rows, narrow)
        drawn = [_draw(c, s, level, heading) for c, s in zip(ladder.columns, squares, strict=True)]
        blocks = _blocks(drawn, width - 2 - max(map(cell_len, labels)) - GAP)
        if len(blocks) == 1:
            break
    return labels, blocks


def ladder_lines(ladder: Ladder, width: int, paint: Paint) -> list[str]:
    """The table, its legend and why squares are empty."""
    if not ladder.rows:
        return ["  nothing was measured"]
    labels, blocks = _fitting(ladder, width)
    label_width = max(map(cell_len, labels))
    out: list[str] = []
    for block in blocks:
        if out:
            out.append("")
        height = max(len(c.head) for c in block)
        for i in range(height):
            texts = [left(([""] * (height - len(c.head)) + list(c.head))[i], c.width) for c in block]
            out.append(paint((" " * (2 + label_width + GAP) + (" " * GAP).join(texts)).rstrip(), "bold"))
        for r, label in enumerate(labels):
            cells = [paint(c.cells[r], *c.styles[r]) + " " * (c.width - cell_len(c.cells[r])) for c in block]
            out.append(("  " + left(label, label_width) + " " * GAP + (" " * GAP).join(cells)).rstrip())
    legend = " · ".join(f"{mark} {MEANING[mark]}" for mark in ladder.marks)
    notes = [f"– {note}" for note in ladder.notes()]
    tail = [*wrap(legend, width, "  ")] if legend else []
    for note in notes:
        tail += wrap(note, width, "  ", "    ")
    return [*out, *([""] if tail else []), *(paint(t, "dim") for t in tail)]


def _banners(report: Report, width: int, paint: Paint) -> list[str]:
    said = []
    if words.debug_build(report):
        said.append("! debug build: the engine is not optimised; these figures do not represent the storage")
    if (unfinished := words.incomplete(report)) is not None:
        said.append(f"! {unfinished}")
    return [paint(line, "yellow", "bold") for text in said for line in wrap(text, width, "", "  ")]


def _note(report: Report, width: int, paint: Paint) -> list[str]:
    out = [line for text in flushes.lines(report) for line in field("Flushes:", text, width)]
    said = words.note(report.run)
    return [*out, *paint.lines(field("Note:", said, width), "dim")] if said else out


def _goals(report: Report, width: int, paint: Paint) -> list[str]:
    head = goals.title(report)
    out = paint.lines(wrap(f"Goals of {head}", width), "bold") if report.analysis.goals else []
    for asked, results in goals.rows(report):
        out += wrap(asked, width, "  ", "    ")
        for result in results:
            style = _GOAL_STYLE.get(result.outcome)
            lines = wrap(f"{goals.MARK[result.outcome]} {goals.told(result)}", width, "    ", "      ")
            out += [paint(line, style) if style else line for line in lines]
    return out


def _verdict(report: Report, width: int, paint: Paint) -> list[str]:
    diagnosis = report.diagnosis
    verdict = diagnosis.verdict
    title = f"{answer.line(verdict)} · confidence {verdict.confidence:.2f}"
    out = [paint(line, _VERDICT_STYLE[verdict.kind], "bold") for line in wrap(title, width, "VERDICT   ", " " * 10)]
    out += wrap(verdict.explanation, width, "  ") if verdict.explanation else []
    own = answer.own(diagnosis)
    out += _experiment(own, width) if own is not None else []
    out += _story(diagnosis, width)
    out += _ruled_out(answer.ruled_out_briefly(diagnosis.ruled_out), width)
    if verdict.missing:
        out += field("Missing:", "; ".join(verdict.missing), width)
    if verdict.next_step:
        told = " ".join(x for x in (verdict.next_step, gain(report.analysis, diagnosis)) if x)
        first, *rest = field("Do first:", told, width)
        out += [first.replace("Do first:", paint("Do first:", "bold"), 1), *rest]
    for finding in answer.further(diagnosis):
        sure = answer.sure(finding.confidence, finding, diagnosis)
        out += field("Also:", f"{answer.of_layer(finding.layer, finding.title)} ({sure})", width)
    return out


def _ruled_out(clauses: tuple[str, ...], width: int) -> list[str]:
    """In running text while that is short, else a clause a line: the first, and how many more there are."""
    if not clauses:
        return []
    running = field("Ruled out:", ", ".join(clauses), width)
    if len(running) <= 2:
        return running
    shown = list(clauses if len(clauses) <= RULED_OUT + 1 else clauses[:RULED_OUT])
    if len(shown) < len(clauses):
        shown.append(f"{len(clauses) - len(shown)} more: strata explain")
    return ["  Ruled out:", *(line for clause in shown for line in wrap(clause, width, "    ", "      "))]


def _experiment(finding: Finding, width: int) -> list[str]:
    if finding.outcome is not None:
        return field(f"{words.outcome(finding.outcome)}:", experiments.outcome(finding.outcome), width)
    if finding.experiment is not None:
        told = f"{experiments.asked(finding.experiment)}, predicted {answer.predicted(finding.experiment)}; not run"
        return field("Would refute it:", told, width)
    return []


def _story(diagnosis: Diagnosis, width: int) -> list[str]:
    """Where the verdict is not sure: every experiment in which a cause fell, and how many more; else how many."""
    own = answer.own(diagnosis)
    if diagnosis.verdict.confidence >= experiments.UNFOLDED:
        if not experiments.told_more(diagnosis, own.outcome if own is not None else None):
            return []
        told = figures.plural(len(diagnosis.story), "experiment")
        return field("Tried:", f"{told}; strata explain shows what each cause predicted", width)
    scenes = experiments.scenes(diagnosis)
    telling = [scene for scene in scenes if scene.telling]
    lines = [experiments.line(scene) for scene in telling]
    if idle := len(scenes) - len(telling):
        what = "more experiment" if telling else "experiment"
        lines.append(f"{figures.plural(idle, what)} that refuted no cause: strata explain")
    lines += [f"not possible: {why}" for why in experiments.refused(diagnosis)]
    return ["  Tried:", *(x for text in lines for x in wrap(text, width, "    ", "      "))] if lines else []


def _checks(checks: tuple[CheckLine, ...], width: int, paint: Paint) -> list[str]:
    out: list[str] = []
    titles = {True: paint("Cannot be true", "red", "bold"), False: paint("Caveats", "bold")}
    for check in checks:
        if check.impossible in titles:
            out.append(titles.pop(check.impossible))
        for text in _single(check):
            out += wrap(text, width, "  ", "    ")
    return out


def _single(check: CheckLine) -> list[str]:
    """What cannot be true is told one by one, as far as it is few."""
    if not check.impossible or not check.each:
        return [check.text]
    shown = [f"{check.heading}: {one}" for one in check.each[:IMPOSSIBLE_EACH_KIND]]
    more = len(check.each) - len(shown)
    return [*shown, f"{check.heading}: {more} more like this in the report"] if more else shown


def _footer(report: Report, width: int, saved_as: str | None, paint: Paint) -> list[str]:
    parts = [f"run {clean(report.run.id)}", f"Strata {clean(report.run.environment.strata_version)}"]
    parts.append(figures.utc(report.run.created_unix_ns))
    parts += map(clean, report.run.label.words)
    if (probe := report.run.noise) is not None:
        parts.append(
            f"noise before the run: ±{figures.percent(probe.between)} between {figures.plural(probe.repeats, 'repeat')}"
        )
    lines = wrap(" · ".join(parts), width)
    if saved_as is not None:
        lines.append(f"report: {clean(saved_as)}")
    return [paint(line, "dim") for line in lines]
