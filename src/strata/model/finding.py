"""What Strata says in the end."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from strata.model.base import Value
from strata.model.estimate import Estimate
from strata.model.workload import Workload


class VerdictKind(StrEnum):
    """The first-class verdicts."""

    MEDIUM = "medium"
    LAYER = "layer"
    GENERATOR = "generator"
    IMPOSSIBLE = "impossible"
    HEALTHY = "healthy"
    INCONCLUSIVE = "inconclusive"


class Cause(StrEnum):
    """What limits. One rule names one cause."""

    MEDIUM = "medium"
    WIRE_BANDWIDTH = "wire-bandwidth"
    WIRE_LATENCY = "wire-latency"
    WIRE_LOSS = "wire-loss"
    REMOTE_CAP = "remote-cap"
    PROCESSORS = "processors"
    QUOTA = "processor-quota"
    PER_REQUEST_COST = "per-request-cost"
    GENERATOR = "generator"
    IMPOSSIBLE = "impossible"
    REORDERING = "reordering"
    UNEXPLAINED = "unexplained"
    NONE = "none"


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
    """A cause that was considered and the observation that excludes it."""

    cause: Cause
    because: str


class Prediction(Value):
    """``low..high`` of ``metric`` that the finding predicts for the experiment's cell."""

    metric: str
    low: float
    high: float
    unit: str


class Experiment(Value):
    """The one experiment that would refute the finding, stated before it is run.

    ``layer`` and ``workload`` are what to run beside ``reference`` (a workload key at the same layer);
    ``otherwise`` is what the runner-up cause predicts.
    """

    layer: str
    workload: Workload
    reference: str
    changes: str
    prediction: Prediction
    otherwise: str


class Outcome(Value):
    """What the experiment gave. ``holds`` None: the interval reaches over the prediction's edge."""

    experiment: Experiment
    measured: Estimate
    holds: bool | None
    statement: str


class Finding(Value):
    """Layer, cause, effect size with interval, evidence, confidence, what was ruled out, next step.

    ``effect`` is the IOPS ratio layer ÷ below of the cell named in ``worst``. ``confidence`` is 0..1.
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


class Diagnosis(Value):
    """The verdict and every finding, the strongest first."""

    verdict: Verdict
    findings: tuple[Finding, ...]
    ruled_out: tuple[RuledOut, ...]
