"""What Strata says in the end."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field, model_validator

from strata.model.base import Value, sparse
from strata.model.cause import Cause as Cause  # noqa: PLC0414 - findings and causes are asked for together
from strata.model.estimate import Estimate
from strata.model.experiment import Experiment, ExperimentRecord, Outcome, Refusal


class VerdictKind(StrEnum):
    """The first-class verdicts; the last two are those of a watched load alone."""

    MEDIUM = "medium"
    LAYER = "layer"
    GENERATOR = "generator"
    IMPOSSIBLE = "impossible"
    HEALTHY = "healthy"
    INCONCLUSIVE = "inconclusive"
    APPLICATION = "application"
    IDLE = "idle"


class EvidenceKind(StrEnum):
    """The three independent kinds; a verdict needs at least two of them."""

    DIFFERENTIAL = "differential"
    OPERATIONAL = "operational"
    INTERVENTIONAL = "interventional"


class Evidence(Value):
    """One observation that speaks for a finding; ``cells`` link into the data."""

    kind: EvidenceKind
    statement: str
    cells: tuple[str, ...] = ()
    value: Estimate | None = None


class RuledOut(Value):
    """A cause that was considered and the observation that excludes it.

    ``because`` is one clause, ``detail`` what goes with it: where it was seen, what else speaks against it.
    """

    cause: Cause
    because: str
    detail: str = ""

    @model_validator(mode="before")
    @classmethod
    def _of_earlier_versions(cls, told: object) -> object:
        """They have both in ``because``, the clause first."""
        if not isinstance(told, dict) or "detail" in told or "; " not in str(told.get("because", "")):
            return told
        clause, _, rest = str(told["because"]).partition("; ")
        return {**told, "because": clause, "detail": rest}

    @property
    def whole(self) -> str:
        """Both, as one sentence."""
        return f"{self.because}; {self.detail}" if self.detail else self.because


class FindingRow(Value):
    """One slow row that a finding explains: what it predicts of ``metric`` there beside what was measured.

    ``low..high`` is the prediction, ``cell`` links into the data; ``share`` 0..1 is how much of the row's loss it
    accounts for.
    """

    cell: str
    metric: str = "IOPS"
    measured: float
    low: float
    high: float
    share: float = Field(ge=0, le=1)


class Finding(Value):
    """Layer, cause, effect size with interval, evidence, confidence, what was ruled out, next step.

    ``effect`` is the IOPS ratio layer ÷ below of the cell named in ``worst``. ``confidence`` is 0..1. ``rows`` are the
    slow rows it explains; ``left`` those of its layer that it does not. ``lifts``: without it the layer may give as
    much as what it is compared with; where that is not so, ``next_step`` says what it brings. ``share`` 0..1 is its
    part of what the findings that stand cost together (logs of what is left, means over the layer's workloads);
    ``own_loss`` such a mean by the layer's own figures, where it is lost by itself (0.7: half).
    """

    id: str
    layer: str
    cause: Cause
    title: str
    explanation: str
    effect: Estimate | None = None
    worst: str | None = None
    confidence: float = Field(ge=0, le=1)
    evidence: tuple[Evidence, ...] = ()
    ruled_out: tuple[RuledOut, ...] = ()
    next_step: str
    experiment: Experiment | None = None
    outcome: Outcome | None = None
    rows: tuple[FindingRow, ...] = ()
    left: tuple[str, ...] = ()
    lifts: bool = True
    share: float | None = Field(default=None, ge=0, le=1)
    own_loss: float | None = Field(default=None, ge=0)

    @property
    def stands(self) -> bool:
        """No experiment refuted it."""
        return self.outcome is None or self.outcome.holds is not False


class Verdict(Value):
    """The answer. ``kind``, ``layer``, ``cause`` and ``confidence`` are stable JSON keys."""

    kind: VerdictKind
    layer: str | None
    cause: Cause
    confidence: float = Field(ge=0, le=1)
    headline: str
    explanation: str
    next_step: str
    missing: tuple[str, ...] = ()


def evidence_of(verdict: Verdict, findings: tuple[Finding, ...]) -> tuple[str, ...]:
    """What speaks for the verdict of a watched load, where its first finding is what the verdict speaks of."""
    first = findings[0] if findings else None
    own = first is not None and (first.layer, first.cause) == (verdict.layer, verdict.cause)
    return tuple(one.statement for one in first.evidence) if first is not None and own else ()


class Diagnosis(Value):
    """The verdict and every finding, the strongest first.

    ``story``: the experiments in the order they were run; ``refused``: those that could not be run here.
    """

    verdict: Verdict
    findings: tuple[Finding, ...]
    ruled_out: tuple[RuledOut, ...]
    story: tuple[ExperimentRecord, ...] = sparse(())
    refused: tuple[Refusal, ...] = sparse(())
