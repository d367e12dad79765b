"""The verdict as one paragraph that can be forwarded: what is slow, by how much, since which layer, why, what else was
considered, what to do first and what that should gain. Every sentence is made of values of the diagnosis."""

from __future__ import annotations

from strata import units
from strata.model.analysis import Analysis, Comparison, Equivalence
from strata.model.finding import Diagnosis, Finding, Verdict, VerdictKind
from strata.report import answer, figures

MIDDLE, WORDS = " · ", ": "
"""A headline sets its parts apart; within a paragraph they are one sentence."""
CONSIDERED = 3
"""Other causes that are named; all of them are in the list of what was ruled out."""


def paragraph(analysis: Analysis, diagnosis: Diagnosis) -> str:
    """The whole of it."""
    verdict, own = diagnosis.verdict, answer.own(diagnosis)
    said = [
        loss(analysis, own) if verdict.kind is VerdictKind.LAYER else None,
        f"{answer.line(verdict).replace(MIDDLE, WORDS)} (confidence {verdict.confidence:.2f}).",
        _sentence(verdict.explanation, end="."),
        _tried(own),
        _others(diagnosis),
        _considered(diagnosis),
        _sentence(f"Not known: {'; '.join(verdict.missing)}" if verdict.missing else "", end="."),
        _first(verdict),
        gain(analysis, diagnosis),
    ]
    return " ".join(s for s in said if s)


def loss(analysis: Analysis, finding: Finding | None) -> str | None:
    """``share gives 30 % of the IOPS of medium (26–34 %) at random read · 8 KiB · depth 1, and is slow in 8 of 9
    workloads.``"""
    at = _worst(analysis, finding)
    if at is None:
        return None
    cell = analysis.summary(at.layer, at.workload_key)
    where = cell.workload.label if cell is not None else at.workload_key
    of_pair = [c for c in analysis.comparisons if (c.layer, c.below) == (at.layer, at.below)]
    slow = sum(c.verdict is Equivalence.ABOVE for c in of_pair)
    span = ""
    if at.iops.low is not None and at.iops.high is not None:
        low, high = figures.percent(at.iops.low), figures.percent(at.iops.high)
        span = f" ({units.span(low, high)})" if low != high else ""
    given = f"{at.layer} gives {figures.percent(at.iops.value)} of the IOPS of {at.below}{span} at {where}"
    return f"{given}, and is slow in {slow} of {figures.plural(len(of_pair), 'workload')}."


def gain(analysis: Analysis, diagnosis: Diagnosis) -> str | None:
    """What the remedy can bring at most: what the layer below gives, in the cell that lost most."""
    if diagnosis.verdict.kind is not VerdictKind.LAYER:
        return None
    at = _worst(analysis, answer.own(diagnosis))
    below = None if at is None else analysis.summary(at.below, at.workload_key)
    if at is None or below is None or not 0 < at.iops.value < 1:
        return None
    times = units.significant(1 / at.iops.value, 2)
    return f"Without this limit {below.workload.label} can reach {times} times its IOPS, those of {at.below}."


def _worst(analysis: Analysis, finding: Finding | None) -> Comparison | None:
    """The comparison of the cell in which the finding costs most."""
    if finding is None or finding.worst is None:
        return None
    return next((c for c in analysis.comparisons if f"{c.layer}/{c.workload_key}" == finding.worst), None)


def _tried(own: Finding | None) -> str | None:
    if own is None or own.outcome is None:
        return None
    word = {True: "An experiment agreed", False: "An experiment disagreed", None: "An experiment left it open"}
    return f"{word[own.outcome.holds]}: {own.outcome.statement}."


def _others(diagnosis: Diagnosis) -> str | None:
    found = [f"{f.layer}, {f.title} (confidence {f.confidence:.2f})" for f in answer.further(diagnosis)]
    return f"Beside it: {'; '.join(found)}." if found else None


def _considered(diagnosis: Diagnosis) -> str | None:
    some = answer.ruled_out_briefly(diagnosis)
    if not some:
        return None
    more = f", and {len(some) - CONSIDERED} more" if len(some) > CONSIDERED else ""
    return f"Considered and ruled out: {', '.join(some[:CONSIDERED])}{more}."


def _first(verdict: Verdict) -> str | None:
    return f"Do first: {_sentence(verdict.next_step, end='.')}" if verdict.next_step else None


def _sentence(text: str, end: str = "") -> str:
    """``end`` where the text has none."""
    text = text.strip()
    return text if not text or text.endswith((".", "!", "?")) else f"{text}{end}"
