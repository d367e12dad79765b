"""A report for the terminal: the table, the verdict, what proved it, what to do."""

from __future__ import annotations

from strata.model.finding import Diagnosis, Finding, VerdictKind
from strata.model.profile import GoalOutcome
from strata.model.run import Report
from strata.report import answer, figures, flushes, goals, ladder, ladder_text, story, words
from strata.report.check_lines import CheckLine, check_lines
from strata.report.how_much import gain
from strata.report.textual import READING_WIDTH, Paint, clean, field, wrap

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
        [paint(line, "bold") for line in wrap(words.head(report, table.common), width)] + _banners(report, text, paint),
        ladder_text.lines(table, width, paint) + _note(report, text, paint),
        _goals(report, text, paint),
        _verdict(report, text, paint),
        _checks(check_lines(report), text, paint),
        _footer(report, text, saved_as, paint),
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block)


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
    return [*out, *(paint(line, "dim") for line in field("Note:", said, width))] if said else out


def _goals(report: Report, width: int, paint: Paint) -> list[str]:
    head = goals.title(report)
    out = [paint(line, "bold") for line in wrap(f"Goals of {head}", width)] if report.analysis.goals else []
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
        out += field(
            "Also:", f"{answer.of_layer(finding.layer, finding.title)} (confidence {finding.confidence:.2f})", width
        )
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
        return field(f"{words.outcome(finding.outcome)}:", story.outcome(finding.outcome), width)
    if finding.experiment is not None:
        told = f"{finding.experiment.changes}, predicted {answer.predicted(finding.experiment)}; not run"
        return field("Would refute it:", told, width)
    return []


def _story(diagnosis: Diagnosis, width: int) -> list[str]:
    """Where the verdict is not sure: every experiment in which a cause fell, and how many more; else how many."""
    own = answer.own(diagnosis)
    if diagnosis.verdict.confidence >= story.UNFOLDED:
        if not story.told_more(diagnosis, own.outcome if own is not None else None):
            return []
        told = figures.plural(len(diagnosis.story), "experiment")
        return field("Tried:", f"{told}; strata explain shows what each cause predicted", width)
    scenes = story.scenes(diagnosis)
    telling = [scene for scene in scenes if scene.telling]
    lines = [story.line(scene) for scene in telling]
    if idle := len(scenes) - len(telling):
        what = "more experiment" if telling else "experiment"
        lines.append(f"{figures.plural(idle, what)} that refuted no cause: strata explain")
    lines += [f"not possible: {why}" for why in story.refused(diagnosis)]
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
