"""The verdict as one paragraph that can be forwarded: what is slow, by how much, since which layer, why, what else was
considered, what to do first and what that should gain. Every sentence is made of values of the diagnosis."""

from __future__ import annotations

from strata.model.analysis import Analysis
from strata.model.finding import Cause, Diagnosis, Finding, Verdict, VerdictKind
from strata.report import answer, how_much, story

MIDDLE, WORDS = " · ", ": "
"""A headline sets its parts apart; within a paragraph they are one sentence."""
CONSIDERED = 3
"""Other causes that are named; all of them are in the list of what was ruled out."""


def paragraph(analysis: Analysis, diagnosis: Diagnosis) -> str:
    """The whole of it."""
    verdict, own = diagnosis.verdict, answer.own(diagnosis)
    loss = how_much.loss(analysis, diagnosis)
    said = [
        loss,
        _headline(verdict, named=loss is not None),
        _it(_sentence(verdict.explanation, end="."), verdict.layer if loss else None, "It"),
        _tried(own),
        _others(diagnosis),
        _considered(diagnosis),
        _sentence(f"Missing: {'; '.join(verdict.missing)}" if verdict.missing else "", end="."),
        f"Do first: {_sentence(verdict.next_step, end='.')}" if verdict.next_step else None,
        how_much.gain(analysis, diagnosis),
    ]
    return " ".join(s for s in said if s)


def _headline(verdict: Verdict, *, named: bool) -> str:
    """Without the layer where the sentence before has named it."""
    sure = f"(confidence {verdict.confidence:.2f})"
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
    return f"{word[own.outcome.holds]}: {story.outcome(own.outcome)}."


def _others(diagnosis: Diagnosis) -> str | None:
    layer = diagnosis.verdict.layer
    names = ((f, f.title if f.layer == layer or f.layer in f.title else f"{f.layer}, {f.title}")
             for f in answer.further(diagnosis))  # fmt: skip
    found = [f"{name} (confidence {f.confidence:.2f})" for f, name in names]
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
