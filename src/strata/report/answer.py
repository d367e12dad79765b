"""What is said of a verdict, each thing once: its line, its own finding, the further ones, what was ruled out."""

from __future__ import annotations

from collections.abc import Iterable

from strata.model.experiment import Experiment
from strata.model.finding import Diagnosis, Finding, RuledOut, Verdict, VerdictKind
from strata.model.groups import grouped
from strata.report import figures, words

_METRICS = {"iops": "", "ratio": "", "mean_ns": "a mean time of "}


def line(verdict: Verdict) -> str:
    """``share · the wire carries no more than 110 MiB/s``: the headline, with the layer where it does not name it."""
    said = verdict.headline or words.verdict_cause(verdict)
    if verdict.layer is None:
        return said
    head = f"{verdict.layer} · "
    if said.startswith(head):
        return of_layer(verdict.layer, said.removeprefix(head))
    return said if verdict.layer in said else f"{head}{said}"


def of_layer(layer: str, title: str) -> str:
    """``share · each request waits``, ``share stalls``: the layer's name once."""
    return title if title.startswith(f"{layer} ") else f"{layer} · {title}"


def alone(verdict: Verdict) -> str:
    """The headline without the layer, for where the layer stands beside it."""
    said = verdict.headline or words.verdict_cause(verdict)
    return said.removeprefix(f"{verdict.layer} · ") if verdict.layer else said


def own(diagnosis: Diagnosis) -> Finding | None:
    """The finding the verdict speaks of; after a refutation the one that was withdrawn."""
    v = diagnosis.verdict
    for finding in diagnosis.findings:
        if finding.layer == v.layer and finding.cause is v.cause:
            return finding
    if v.kind is VerdictKind.INCONCLUSIVE:
        return next((f for f in diagnosis.findings if f.outcome is not None and f.outcome.holds is False), None)
    return diagnosis.findings[0] if diagnosis.findings and v.layer is None else None


def further(diagnosis: Diagnosis) -> tuple[Finding, ...]:
    """The other findings that still stand, first what takes the larger part of the explained loss."""
    first = own(diagnosis)
    others = (f for f in diagnosis.findings if f is not first and f.stands)
    return tuple(sorted(others, key=lambda f: -(f.share or 0.0)))


def sure(confidence: float, finding: Finding | None, diagnosis: Diagnosis) -> str:
    """``confidence 0.61``; of several findings with its part of what they explain together: ``37 % of the explained
    loss, confidence 0.61``.
    """
    said = f"confidence {confidence:.2f}"
    several = sum(f.share is not None for f in diagnosis.findings) > 1
    if finding is None or finding.share is None or not several or not finding.stands:
        return said
    return f"{figures.percent(finding.share)} of the explained loss, {said}"


def predicted(experiment: Experiment) -> str:
    """``760–870 IOPS``, ``a mean time of 1.20–1.90 ms``."""
    p = experiment.prediction
    return f"{_METRICS.get(p.metric, f'{p.metric} ')}{p.words}"


def ruled_out(some: Iterable[RuledOut]) -> tuple[tuple[str, RuledOut], ...]:
    """(causes, what speaks against them): causes that one observation excludes stand together."""
    groups = grouped((item.whole, item) for item in some)
    return tuple((", ".join(item.cause.words for item in alike), alike[0]) for alike in groups.values())


def ruled_out_briefly(some: Iterable[RuledOut]) -> tuple[str, ...]:
    """``wire bandwidth (5 % used)``: one clause each."""
    return tuple(f"{causes} ({one.because})" for causes, one in ruled_out(some))
