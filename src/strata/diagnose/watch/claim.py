"""What a rule says of an observed load."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from strata.model.finding import Cause, Evidence, EvidenceKind, Finding, VerdictKind

SURE = 0.8
NAMED = 0.5
"""From this confidence on a claim is a verdict; below it is what the verdict says that it could be."""

OF_THE_APPLICATION = (Cause.GENERATOR, Cause.CLIENT_PROCESSORS)


@dataclass(frozen=True)
class Claim:
    """``share``: of the time of the load's requests that it accounts for. ``missing``: what would tell more."""

    cause: Cause
    confidence: float
    share: float
    title: str
    explanation: str
    next_step: str
    evidence: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    what: str = ""
    """The device, card, process or queue that is meant."""
    layer: str = ""
    """Empty: the lowest. The application, where it is the cause, has a place of its own."""

    @property
    def kind(self) -> VerdictKind:
        """What is then said of the load."""
        if self.cause in OF_THE_APPLICATION:
            return VerdictKind.APPLICATION
        return VerdictKind.MEDIUM if self.cause is Cause.MEDIUM else VerdictKind.LAYER

    def finding(self, number: int) -> Finding:
        """As it is told."""
        return Finding(
            id=f"w{number}",
            layer=self.layer,
            cause=self.cause,
            title=self.title,
            explanation=self.explanation,
            confidence=round(self.confidence, 2),
            evidence=tuple(Evidence(kind=EvidenceKind.OPERATIONAL, statement=s) for s in self.evidence),
            next_step=self.next_step,
        )


@dataclass(frozen=True)
class Not:
    """A cause that the evidence excludes."""

    cause: Cause
    because: str


@dataclass
class Answers:
    """Of all rules together."""

    claims: list[Claim] = field(default_factory=list)
    excluded: list[Not] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)

    def take(self, found: Sequence[Claim | Not | str]) -> None:
        """Each to its kind; a text is what is missing."""
        for one in found:
            if isinstance(one, Claim):
                self.claims.append(one)
            elif isinstance(one, Not):
                self.excluded.append(one)
            else:
                self.missing.append(one)
