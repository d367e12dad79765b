"""A report for the terminal: the table, the verdict, what proved it, what to do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from strata.model.analysis import Check
from strata.model.finding import Cause, Diagnosis, Finding, VerdictKind
from strata.model.run import Report, RunStatus
from strata.report import figures, ladder, ladder_text, words
from strata.report.listing_text import runs_text
from strata.report.measure_text import measure_text
from strata.report.plan_text import plan_text
from strata.report.survey_text import survey_text
from strata.report.textual import Paint, clean, field, wrap

__all__ = ["measure_text", "plan_text", "render", "runs_text", "survey_text"]

READING_WIDTH = 124
"""Running text is not set wider than this, however wide the terminal is."""
CHECKS_EACH_KIND = 3
_VERDICT_STYLE = {
    VerdictKind.MEDIUM: "green",
    VerdictKind.HEALTHY: "green",
    VerdictKind.LAYER: "red",
    VerdictKind.GENERATOR: "yellow",
    VerdictKind.IMPOSSIBLE: "red",
    VerdictKind.INCONCLUSIVE: "yellow",
}


def render(report: Report, width: int, color: bool, saved_as: str | None = None) -> str:
    """The whole report in at most ``width`` columns, without a trailing newline.

    ``saved_as`` is the file the full report was written to, named in the last line. ``color`` adds ANSI codes;
    whether to use them (NO_COLOR, a terminal) is the caller's to know.
    """
    paint = Paint(color)
    text = min(width, READING_WIDTH)
    table = ladder.build(report)
    blocks = [
        [paint(line, "bold") for line in wrap(_head(report, table.common), width)] + _banners(report, text, paint),
        ladder_text.lines(table, width, paint),
        _verdict(report.diagnosis, text, paint),
        _checks(report.analysis.checks, text, paint),
        _footer(report, text, saved_as, paint),
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block)


def _head(report: Report, common: str) -> str:
    parts = [report.run.plan.stack.name, common, figures.plural(report.run.plan.rounds, "interleaved round")]
    parts.append(words.noise_floor(report.analysis.noise))
    return " · ".join(p for p in parts if p)


def debug_build(report: Report) -> bool:
    """Whether any figure comes from an engine compiled without optimisation."""
    measured = any(r.result is not None and r.result.debug_build for r in report.results)
    return measured or report.run.environment.build.get("profile") == "debug"


def incomplete(report: Report) -> str | None:
    """What to say when the run did not get to its end; None when it did."""
    if report.run.status is RunStatus.DONE:
        return None
    done = sum(1 for r in report.results if r.result is not None)
    head = f"{done} of {figures.plural(len(report.run.plan.steps), 'step')} measured"
    state = {RunStatus.RUNNING: "still running", RunStatus.STOPPED: "stopped", RunStatus.FAILED: "failed"}
    why = f": {report.run.message}" if report.run.message else ""
    return f"run {state[report.run.status]}, {head}{why}"


def _banners(report: Report, width: int, paint: Paint) -> list[str]:
    said = []
    if debug_build(report):
        said.append("! debug build: the engine is not optimised, these figures are not the storage's")
    if (unfinished := incomplete(report)) is not None:
        said.append(f"! {unfinished}")
    return [paint(line, "yellow", "bold") for text in said for line in wrap(text, width, "", "  ")]


def _verdict(diagnosis: Diagnosis, width: int, paint: Paint) -> list[str]:
    verdict = diagnosis.verdict
    title = f"{words.verdict_title(verdict)} · confidence {verdict.confidence:.2f}"
    out = [paint(line, _VERDICT_STYLE[verdict.kind], "bold") for line in wrap(title, width, "VERDICT   ", " " * 10)]
    if verdict.headline and verdict.headline not in (words.verdict_title(verdict), words.verdict_cause(verdict)):
        out += [paint(line, "bold") for line in wrap(verdict.headline, width, "  ")]
    out += wrap(verdict.explanation, width, "  ") if verdict.explanation else []
    for finding in diagnosis.findings:
        out += _experiment(finding, width)
    if diagnosis.ruled_out:
        out += field("Ruled out:", ruled_out(diagnosis), width)
    if verdict.missing:
        out += field("Missing:", "; ".join(verdict.missing), width)
    if verdict.next_step:
        first, *rest = field("Do first:", verdict.next_step, width)
        out += [first.replace("Do first:", paint("Do first:", "bold"), 1), *rest]
    others = [f for f in diagnosis.findings if f.layer != verdict.layer or f.cause is not verdict.cause]
    for finding in others:
        out += field("Also:", f"{finding.layer} · {finding.title} (confidence {finding.confidence:.2f})", width)
    return out


def ruled_out(diagnosis: Diagnosis) -> str:
    """``wire bandwidth (5 % used), processors (12 % busy)``."""
    return ", ".join(f"{words.CAUSE[r.cause]} ({r.because})" for r in diagnosis.ruled_out)


def _experiment(finding: Finding, width: int) -> list[str]:
    if finding.outcome is not None:
        return field(f"{words.outcome(finding.outcome)}:", finding.outcome.statement, width)
    if finding.experiment is not None and finding.cause is not Cause.NONE:
        p = finding.experiment.prediction
        low, high = figures.amount(p.low, p.unit), figures.amount(p.high, p.unit)
        told = f"{finding.experiment.changes}; predicted {p.metric} {low} to {high}, not run"
        return field("Would refute it:", told, width)
    return []


def grouped(checks: Iterable[Check]) -> list[tuple[bool, str, list[str]]]:
    """(impossible, heading, messages): the impossible first, then by kind; messages name their cell."""
    groups: dict[tuple[bool, str], list[str]] = {}
    for check in sorted(checks, key=lambda c: not c.impossible):
        where = f"{check.layer}/{check.workload_key}" if check.workload_key else check.layer
        groups.setdefault((check.impossible, words.CHECK[check.kind]), []).append(f"{where}: {check.message}")
    return [(impossible, heading, messages) for (impossible, heading), messages in groups.items()]


def _checks(checks: Sequence[Check], width: int, paint: Paint) -> list[str]:
    out: list[str] = []
    titles = {True: paint("Cannot be true", "red", "bold"), False: paint("What colours the result", "bold")}
    for impossible, heading, messages in grouped(checks):
        if impossible in titles:
            out.append(titles.pop(impossible))
        for message in messages[:CHECKS_EACH_KIND]:
            out += wrap(f"{heading}: {message}", width, "  ", "    ")
        if (more := len(messages) - CHECKS_EACH_KIND) > 0:
            out.append(f"  {heading}: {more} more like this in the report")
    return out


def _footer(report: Report, width: int, saved_as: str | None, paint: Paint) -> list[str]:
    parts = [f"run {clean(report.run.id)}", f"Strata {clean(report.run.environment.strata_version)}"]
    parts.append(figures.utc(report.run.created_unix_ns))
    lines = wrap(" · ".join(parts), width)
    if saved_as is not None:
        lines.append(f"report: {clean(saved_as)}")
    return [paint(line, "dim") for line in lines]
