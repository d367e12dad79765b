"""One verdict held against what is true of the lab: pure, and all that the scores are counted from."""

from __future__ import annotations

import math
from dataclasses import dataclass

from diagnosisbench.kept import Case, Said, Verdict
from diagnosisbench.outside import truth_of
from diagnosisbench.setups import SETUPS, TOP, Natural
from diagnosisbench.split import Split, Why
from diagnosisbench.trial import Kind
from strata.model.finding import Cause, VerdictKind

UNNAMED = frozenset({Cause.UNEXPLAINED, Cause.NONE})
"""What is said where no cause is named."""
NOBODY = {VerdictKind.HEALTHY, VerdictKind.INCONCLUSIVE}


@dataclass(frozen=True)
class Limit:
    """One thing that was put in: the causes that are right, and the layers where they may be blamed."""

    what: str
    causes: frozenset[Cause]
    layers: frozenset[str]
    partly: frozenset[Cause] = frozenset()
    """Causes that are so, but not all of it."""
    anywhere: bool = False
    """Whether it lies at no layer: the client's limits hold whatever it drives."""

    def names(self, said: Said) -> bool:
        """Whether this is it: the right cause at the right layer."""
        return said.cause in self.causes and self.placed(said)

    def placed(self, said: Said) -> bool:
        """Whether it is blamed where it is."""
        return self.anywhere or said.layer in self.layers


@dataclass(frozen=True)
class Truth:
    """``natural``: causes that are true of the healthy lab too, each with its layer."""

    kind: Kind
    limits: tuple[Limit, ...]
    natural: Natural


@dataclass(frozen=True)
class Judged:
    """A case, what is true of it and what was said; ``kept``: why it is kept from tuning.

    ``failed``: nothing was said. That is a miss, and of a healthy lab no proof that nobody is blamed.
    """

    name: str
    stack: str
    setup: str
    truth: Truth
    verdict: Verdict
    kept: frozenset[Why]
    neighbour: bool
    seconds: float
    layers: int
    seed: int
    failed: bool = False

    @property
    def first(self) -> Said:
        """What was named first."""
        return self.verdict.first

    @property
    def named(self) -> bool:
        """Whether a cause is named at all. That the medium is what limits, as it should, names nobody."""
        if self.verdict.kind in NOBODY or self.first.cause in UNNAMED:
            return False
        return not (self.verdict.kind is VerdictKind.MEDIUM and self.first.cause is Cause.MEDIUM)

    @property
    def right_layer(self) -> bool:
        """Of the first that is named: a limit is there."""
        return self._said_something and any(limit.placed(self.first) for limit in self.truth.limits)

    @property
    def right_cause(self) -> bool:
        """Of the first that is named; of a healthy lab: nobody is blamed."""
        if not self.truth.limits:
            return not self.blamed and not self.failed
        return self._said_something and any(limit.names(self.first) for limit in self.truth.limits)

    @property
    def blamed(self) -> bool:
        """Whether a healthy lab is said to have a fault, other than what limits it by its nature."""
        return self.named and (self.first.layer, self.first.cause) not in self.truth.natural

    @property
    def wrong(self) -> bool:
        """Whether what is said is not so. To say that one does not know is not wrong; that all is well may be."""
        if self.verdict.kind is VerdictKind.INCONCLUSIVE or self.first.cause is Cause.UNEXPLAINED:
            return False
        if (self.first.layer, self.first.cause) in self.truth.natural:
            return False
        return not self.right_cause and not any(self.first.cause in limit.partly for limit in self.truth.limits)

    @property
    def wrong_confirmed(self) -> bool:
        """Whether an experiment is said to have confirmed it."""
        return self.wrong and self.first.holds is True

    @property
    def decided(self) -> bool:
        """Whether the verdict claims something that can be right or wrong."""
        return self.verdict.kind is not VerdictKind.INCONCLUSIVE and self.first.cause is not Cause.UNEXPLAINED

    @property
    def both(self) -> bool:
        """Whether each of the limits is among the first three that are named."""
        return all(any(limit.names(s) for s in self.verdict.said[:3]) for limit in self.truth.limits)

    @property
    def _said_something(self) -> bool:
        return self.verdict.kind not in NOBODY


def truths(case: Case) -> Truth:
    """What is true of a case, by what was put in and felt."""
    setup = SETUPS[case.trial.setup]
    top = case.stack.layers[-1].name if case.stack else TOP
    limits = tuple(_limit(case, number, top) for number in range(len(case.trial.put)))
    natural = frozenset((top if layer == TOP else layer, cause) for layer, cause in setup.natural)
    return Truth(case.trial.kind, limits, natural)


def _limit(case: Case, number: int, top: str) -> Limit:
    setup, put = SETUPS[case.trial.setup], case.trial.put[number]
    truth = truth_of(put.what, case.trial.stack)
    named = (truth.layer, *truth.also)
    where = {top if name == TOP else setup.cells.get(name, name) for name in named}
    return Limit(put.what, frozenset(truth.must), frozenset(where), frozenset(truth.partly), truth.kind == "client")


def judged(case: Case, verdict: Verdict, split: Split) -> Judged:
    """A case with what is said of it now."""
    trial = case.trial
    return Judged(
        name=trial.name,
        stack=trial.stack,
        setup=trial.setup,
        truth=truths(case),
        verdict=verdict,
        kept=trial.kept(split),
        neighbour=trial.neighbour,
        seconds=math.inf if case.failed else case.seconds,
        layers=len(case.stack.layers) if case.stack else 0,
        seed=trial.seed,
        failed=case.failed is not None,
    )
