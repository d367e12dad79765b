"""The verdict as one paragraph that can be forwarded: what is slow, by how much, since which layer, why, what else was
considered, what to do first and what that should gain. Every sentence is made of values of the diagnosis."""

from __future__ import annotations

import math

from strata import units
from strata.model.analysis import Analysis, Comparison, Equivalence
from strata.model.estimate import Estimate
from strata.model.finding import Cause, Diagnosis, Finding, Verdict, VerdictKind
from strata.model.reference import Reference, ReferenceSource
from strata.report import answer, experiments, figures

MIDDLE, WORDS = " · ", ": "
"""A headline sets its parts apart; within a paragraph they are one sentence."""
CONSIDERED = 3
"""Other causes that are named; all of them are in the list of what was ruled out."""


def paragraph(analysis: Analysis, diagnosis: Diagnosis) -> str:
    verdict, own = diagnosis.verdict, answer.own(diagnosis)
    lost = loss(analysis, diagnosis)
    said = [
        lost,
        _headline(verdict, answer.sure(verdict.confidence, own, diagnosis), named=lost is not None),
        _it(_sentence(verdict.explanation, end="."), verdict.layer if lost else None, "It"),
        _tried(own),
        _others(diagnosis),
        _considered(diagnosis),
        _sentence(f"Missing: {'; '.join(verdict.missing)}" if verdict.missing else "", end="."),
        f"Do first: {_sentence(verdict.next_step, end='.')}" if verdict.next_step else None,
        gain(analysis, diagnosis),
    ]
    return " ".join(s for s in said if s)


def _headline(verdict: Verdict, sure: str, *, named: bool) -> str:
    """Without the layer where the sentence before has named it."""
    sure = f"({sure})"
    if not named:
        return f"{answer.line(verdict).replace(MIDDLE, WORDS)} {sure}."
    if verdict.kind is VerdictKind.INCONCLUSIVE:
        return f"The verdict is inconclusive {sure}."
    said = _it(answer.alone(verdict).replace(MIDDLE, WORDS), verdict.layer)
    known = verdict.kind is VerdictKind.LAYER and verdict.cause is not Cause.UNEXPLAINED
    return f"{f'The cause: {said}' if known else said[:1].upper() + said[1:]} {sure}."


def _it(text: str, layer: str | None, it: str = "it") -> str:
    """Not the layer's name again at the head of a sentence."""
    return f"{it} {text.removeprefix(f'{layer} ')}" if layer is not None and text.startswith(f"{layer} ") else text


def _tried(own: Finding | None) -> str | None:
    if own is None or own.outcome is None:
        return None
    word = {True: "An experiment confirmed it", False: "An experiment refuted it", None: "An experiment was undecided"}
    return f"{word[own.outcome.holds]}: {experiments.outcome(own.outcome)}."


def _others(diagnosis: Diagnosis) -> str | None:
    layer = diagnosis.verdict.layer
    names = ((f, f.title if f.layer == layer or f.layer in f.title else f"{f.layer}, {f.title}")
             for f in answer.further(diagnosis))  # fmt: skip
    found = [f"{name} ({answer.sure(f.confidence, f, diagnosis)})" for f, name in names]
    return f"Also found: {'; '.join(found)}." if found else None


def _considered(diagnosis: Diagnosis) -> str | None:
    some = answer.ruled_out_briefly(diagnosis.ruled_out)
    if not some:
        return None
    more = f", and {len(some) - CONSIDERED} more" if len(some) > CONSIDERED else ""
    return f"Ruled out: {', '.join(some[:CONSIDERED])}{more}."


def _sentence(text: str, end: str = "") -> str:
    """``end`` where the text has none."""
    text = text.strip()
    return text if not text or text.endswith((".", "!", "?")) else f"{text}{end}"


def loss(analysis: Analysis, diagnosis: Diagnosis) -> str | None:
    """By how much a layer is slow: against the layer below where it is compared with one, else against its
    specification or an earlier run.

    ``share gives 30 % of the IOPS of medium (26–34 %) at random read · 8 KiB · depth 1, and is slow in 8 of 9
    workloads.`` None where the verdict is about no layer's speed, or nothing is known to compare it with."""
    verdict, finding = diagnosis.verdict, answer.own(diagnosis)
    if verdict.kind not in (VerdictKind.LAYER, VerdictKind.MEDIUM, VerdictKind.INCONCLUSIVE):
        return None
    if (at := _worst(analysis, finding)) is not None:
        of_pair = [c for c in analysis.comparisons if (c.layer, c.below) == (at.layer, at.below)]
        slow = sum(c.verdict is Equivalence.ABOVE for c in of_pair)
        told = _given(analysis, at, at.iops, f"of the IOPS of {at.below}")
        return f"{told}, and is slow in {slow} of {figures.plural(len(of_pair), 'workload')}."
    return None if verdict.kind is VerdictKind.INCONCLUSIVE else _promised(analysis, verdict.layer, finding)


def gain(analysis: Analysis, diagnosis: Diagnosis) -> str | None:
    """What the remedy should bring. None where the cause is not known.

    Of what the layer below gives: the row that it helps most, of the loss the part that the finding accounts for. Of
    what the layer loses by itself, and of a medium: what it gives where it is as its specification or an earlier run
    has it; else by its own figures; else it is said that nothing is known to compare it with.
    """
    own, verdict = answer.own(diagnosis), diagnosis.verdict
    if own is None or verdict.cause is Cause.UNEXPLAINED:
        return None
    if verdict.kind is VerdictKind.MEDIUM:
        return _as_promised(analysis, own)
    if verdict.kind is not VerdictKind.LAYER:
        return None
    if any(check.impossible for check in analysis.checks):
        # It makes figures too good: there is no loss.
        return f"Mending brings no speed, but figures that are those of {own.layer}."
    worst = _worst(analysis, own)
    if worst is None or not own.lifts:
        return _as_promised(analysis, own)
    held = {_cell(c): c for c in analysis.comparisons}
    parts = [(held[row.cell], row.share) for row in own.rows if row.cell in held] or [(worst, 1.0)]
    logs = [(-share * math.log(c.iops.value), c) for c, share in parts if c.iops.value > 0]
    most, at = max(logs, key=lambda one: one[0], default=(0.0, worst))
    cell = analysis.summary(at.layer, at.workload_key)
    if cell is None or most <= 0:
        return None
    times = units.significant(math.exp(most), 2)
    return f"Without this limit, {cell.workload.label} gives at most {times} times the IOPS."


def _as_promised(analysis: Analysis, own: Finding) -> str:
    """``With the IOPS in its specification it gives 2.1 times as much (2.0–2.2) at random read · 4 KiB.``"""
    known = _references(analysis, own.layer, own)
    if not known:
        if own.own_loss:
            times = units.significant(math.exp(own.own_loss), 2)
            return (
                f"Without this limit, {own.layer} gives about {times} times the IOPS by its own figures, as a mean "
                "over its workloads; no specification and no earlier run gives an interval."
            )
        return (
            f"What mending {own.layer} gains is not known: there is no specification (expect) and no earlier run to "
            "compare it with."
        )
    worst = min(known, key=lambda r: r.ratio.value)
    ratio = worst.ratio
    by = _by(worst)
    if ratio.value >= 1:
        return f"Mending has nothing to gain: {_given(analysis, worst, ratio, f'of {by}')}."
    times = units.significant(1 / ratio.value, 2)
    return f"With {by} it gives {times} times as much{_inverse(ratio)} at {_label(analysis, worst)}."


def _inverse(ratio: Estimate) -> str:
    if ratio.low is None or ratio.high is None or ratio.low <= 0:
        return ""
    low, high = (str(units.significant(1 / end, 2)) for end in (ratio.high, ratio.low))
    return f" ({units.span(low, high)})" if low != high else ""


def _worst(analysis: Analysis, finding: Finding | None) -> Comparison | None:
    """The comparison of the cell in which the finding's layer loses most."""
    if finding is None or finding.worst is None:
        return None
    return next((c for c in analysis.comparisons if _cell(c) == finding.worst), None)


def _cell(of: Comparison) -> str:
    return f"{of.layer}/{of.workload_key}"


def _promised(analysis: Analysis, layer: str | None, finding: Finding | None) -> str | None:
    """The same, of what the layer should give: of the rows that the finding explains where one of them is known."""
    known = [r for r in analysis.references if r.layer == layer]
    if not known:
        return None
    worst = min(_references(analysis, layer, finding), key=lambda r: r.ratio.value)
    alike = [r for r in known if r.source is worst.source]
    slow = sum(r.slower for r in alike)
    told = _given(analysis, worst, worst.ratio, f"of {_by(worst)}")
    return f"{told}, and is slow in {slow} of {figures.plural(len(alike), 'workload')}."


def _references(analysis: Analysis, layer: str | None, finding: Finding | None) -> list[Reference]:
    """What the layer should give: of the rows that the finding explains where one of them is known."""
    known = [r for r in analysis.references if r.layer == layer]
    rows = {row.cell for row in finding.rows} if finding is not None else set()
    return [r for r in known if r.name in rows] or known


def _by(of: Reference) -> str:
    return "the IOPS in its specification" if of.source is ReferenceSource.SPECIFICATION else f"its IOPS in {of.of}"


def _label(analysis: Analysis, at: Comparison | Reference) -> str:
    cell = analysis.summary(at.layer, at.workload_key)
    return cell.workload.label if cell is not None else at.workload_key


def _given(analysis: Analysis, at: Comparison | Reference, ratio: Estimate, of: str) -> str:
    return f"{at.layer} gives {figures.percent(ratio.value)} {of}{_span(ratio)} at {_label(analysis, at)}"


def _span(ratio: Estimate) -> str:
    if ratio.low is None or ratio.high is None:
        return ""
    low, high = figures.percent(ratio.low), figures.percent(ratio.high)
    return f" ({units.span(low, high)})" if low != high else ""
