"""What the experiment does to the verdict: it accepts, withdraws, or leaves it."""

from __future__ import annotations

from strata.diagnose.opinion import CEILING_CONFIRMED, UNCERTAIN
from strata.model.finding import Cause, Diagnosis, Evidence, EvidenceKind, Finding, Outcome, Verdict, VerdictKind

CONFIRMED_PART = 0.8
REFUTED_PART = 0.25


def revised(confidence: float, holds: bool | None) -> float:
    """Four fifths of the way to 0.97 when the prediction held, a quarter of it when it failed, else unchanged."""
    if holds is None:
        return confidence
    if holds:
        return round(confidence + CONFIRMED_PART * (CEILING_CONFIRMED - confidence), 3)
    return round(confidence * REFUTED_PART, 3)


def conclude(diagnosis: Diagnosis, outcome: Outcome) -> Diagnosis:
    """The diagnosis after its experiment. An outcome of another experiment changes nothing."""
    at = next((f for f in diagnosis.findings if f.experiment == outcome.experiment), None)
    if at is None:
        return diagnosis
    done = _with_outcome(at, outcome)
    findings = tuple(done if f is at else f for f in diagnosis.findings)
    verdict = diagnosis.verdict
    if at.layer != verdict.layer or at.cause is not verdict.cause:
        return diagnosis.model_copy(update={"findings": findings})
    if outcome.holds:
        verdict = _accepted(verdict, done)
    elif outcome.holds is False:
        verdict = _withdrawn(verdict, done, outcome, tuple(f for f in findings if f is not done))
    ordered = tuple(sorted(findings, key=lambda f: f.layer != verdict.layer or f.cause is not verdict.cause))
    return diagnosis.model_copy(update={"verdict": verdict, "findings": ordered})


def _with_outcome(finding: Finding, outcome: Outcome) -> Finding:
    evidence = finding.evidence
    if outcome.holds:
        seen = Evidence(
            kind=EvidenceKind.INTERVENTIONAL,
            statement=outcome.statement,
            cells=(f"{outcome.experiment.layer}/{outcome.experiment.workload.key}",),
            value=outcome.measured,
        )
        evidence = (*evidence, seen)
    return finding.model_copy(
        update={
            "outcome": outcome,
            "evidence": evidence,
            "confidence": revised(finding.confidence, outcome.holds),
        }
    )


def _accepted(verdict: Verdict, done: Finding) -> Verdict:
    kind, headline, missing = verdict.kind, verdict.headline, verdict.missing
    if kind is VerdictKind.INCONCLUSIVE and len({e.kind for e in done.evidence}) >= 2 and not _needs_trip(missing):
        kind, headline, missing = VerdictKind.LAYER, f"{done.layer} · {done.title}", ()
    return verdict.model_copy(
        update={
            "kind": kind,
            "headline": headline,
            "missing": missing,
            "confidence": done.confidence,
            "explanation": verdict.explanation.removesuffix(UNCERTAIN) if not missing else verdict.explanation,
        }
    )


def _needs_trip(missing: tuple[str, ...]) -> bool:
    """Load experiments cannot tell a wire from a layer behind it; only the round trip can."""
    return any("round trip" in m for m in missing)


def _withdrawn(verdict: Verdict, done: Finding, outcome: Outcome, others: tuple[Finding, ...]) -> Verdict:
    runner = next((f for f in others if f.cause not in (Cause.UNEXPLAINED, Cause.NONE)), None)
    missing = [f"a cause that agrees with the experiment ({outcome.experiment.otherwise})"]
    if runner is not None:
        missing.append(f"an experiment on the next finding: {runner.layer}, {runner.title}")
    return Verdict(
        kind=VerdictKind.INCONCLUSIVE,
        layer=done.layer,
        cause=Cause.UNEXPLAINED,
        confidence=done.confidence,
        headline=f"inconclusive · {done.layer} was blamed, and its experiment disagreed",
        explanation=f"The finding was that {done.title}. Its experiment disagreed, so it is withdrawn.",
        next_step=runner.next_step if runner is not None else "Measure more block sizes and depths at this layer.",
        missing=tuple(missing),
    )
