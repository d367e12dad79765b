"""One verdict held against what is true of the lab: pure, and all that the scores are counted from."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

from diagnosisbench.kept import Case, Said, Verdict
from diagnosisbench.outside import truth_of
from diagnosisbench.setups import SETUPS, TOP, Natural
from diagnosisbench.split import Split, Why
from diagnosisbench.trial import Kind, Trial
from strata.model.finding import Cause, VerdictKind
from strata.model.stack import Stack

UNNAMED = frozenset({Cause.UNEXPLAINED, Cause.NONE})
"""What is said where no cause is named."""
REFUSED = "exit status 5: error: layer "
NOBODY = {VerdictKind.HEALTHY, VerdictKind.INCONCLUSIVE}


@dataclass(frozen=True)
class Limit:
    """One thing that was put in: the causes that are right, and the layers where they may be blamed."""

    what: str
    causes: frozenset[Cause]
    layers: frozenset[str]
    partly: frozenset[Cause] = frozenset()
    """Causes that are so there, but not all of it."""
    anywhere: bool = False
    """Whether it lies at no layer: the client's limits hold whatever it drives."""
    beside: Natural = frozenset()
    """What it does at other layers: as true."""
    never: frozenset[Cause] = frozenset()
    """Causes that it rules out, at whatever layer."""

    def names(self, said: Said) -> bool:
        """Whether this is it: the right cause at the right layer."""
        return (said.cause in self.causes and self.placed(said)) or (said.layer, said.cause) in self.beside

    def partly_names(self, said: Said) -> bool:
        """Whether a part of it is named, where it is."""
        return said.cause in self.partly and self.placed(said)

    def placed(self, said: Said) -> bool:
        """Whether it is blamed where it is."""
        return self.anywhere or said.layer in self.layers


@dataclass(frozen=True)
class Truth:
    """``natural``: causes that are true of the healthy lab too, each with its layer."""

    kind: Kind
    limits: tuple[Limit, ...]
    natural: Natural

    def named_by(self, said: Said) -> bool:
        """Whether it is one of the limits."""
        return any(limit.names(said) for limit in self.limits)

    def partly_named_by(self, said: Said) -> bool:
        """Whether it is a part of one of the limits, and none of them."""
        return any(limit.partly_names(said) for limit in self.limits) and not self.named_by(said)

    def ruled_out(self, said: Said) -> bool:
        """Whether one of the limits forbids it and none is it: that is wrong however unsure, or natural."""
        so = self.named_by(said) or self.partly_named_by(said)
        return not so and any(said.cause in limit.never for limit in self.limits)

    def is_natural(self, said: Said) -> bool:
        """Whether it is true of the healthy lab too."""
        return (said.layer, said.cause) in self.natural and not self.ruled_out(said)

    def false(self, said: Said) -> bool:
        """Whether a cause is named that is none here."""
        if said.cause in UNNAMED:
            return False
        return not (self.named_by(said) or self.partly_named_by(said) or self.is_natural(said))


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
    refused: bool = False
    """Whether it failed because a layer does not hold the data of those below, and said which."""
    health_open: bool = False
    """Whether to say that the medium limits leaves open if it does what it should, as a watching's verdict does."""

    @property
    def first(self) -> Said:
        """What was named first."""
        return self.verdict.first

    @property
    def as_expected(self) -> bool:
        """Whether all that is said is that the medium limits, as it should: that blames nobody."""
        return self.verdict.kind is VerdictKind.MEDIUM and self.first.cause is Cause.MEDIUM

    @property
    def named(self) -> bool:
        """Whether a cause is named first at all."""
        return self.verdict.kind not in NOBODY and self.first.cause not in UNNAMED and not self.as_expected

    @property
    def right_layer(self) -> bool:
        """Of the first that is named: a limit is there. A limit that lies at no layer is found by its cause alone."""
        if self.refused_rightly:
            return True
        if self.as_expected:
            return self._rightly_expected
        placed = any(not limit.anywhere and limit.placed(self.first) for limit in self.truth.limits)
        return self._said_something and (placed or self.truth.named_by(self.first) or self.after_natural)

    @property
    def right_cause(self) -> bool:
        """Of the first that is named; of a healthy lab: nobody is blamed."""
        if not self.truth.limits:
            return not self.blamed and not self.failed
        if self.refused_rightly:
            return True
        if self.as_expected:
            return self._rightly_expected
        return self._said_something and (self.truth.named_by(self.first) or self.after_natural)

    @property
    def _rightly_expected(self) -> bool:
        """Whether it is a truth that the medium limits and does what it should. Of a limit in the catalogue it is none:
        a slow medium is the limit, and not as expected."""
        return (self.health_open or self.truth.kind is Kind.OUTSIDE) and self.truth.named_by(self.first)

    @property
    def after_natural(self) -> bool:
        """Whether the lab's own limit is told first and everything that was put in after it: with one that the lab has
        anyway these are two limits, and the larger comes first."""
        return bool(self.truth.limits) and self.natural and self.both

    @property
    def refused_rightly(self) -> bool:
        """Whether a layer that holds other data was refused by its name: nothing may be written to it or compared."""
        wrong = any(Cause.WRONG_FILE in limit.causes for limit in self.truth.limits)
        return self.refused and wrong

    @property
    def partly(self) -> bool:
        """Whether what is named first is so, and less than there is to say."""
        return self._said_something and self.truth.partly_named_by(self.first)

    @property
    def natural(self) -> bool:
        """Whether what is named first limits the healthy lab as well, and is not what was put in."""
        return self.named and self.truth.is_natural(self.first) and not self.truth.named_by(self.first)

    @property
    def blame(self) -> tuple[Said, ...]:
        """Whatever is said to be slow, with a cause or without one, other than what limits the lab by its nature."""
        told = self.verdict.said[1:] if self.as_expected else self.verdict.said
        return tuple(s for s in told if s.cause is not Cause.NONE and not self.truth.is_natural(s))

    @property
    def blamed(self) -> bool:
        """Whether a healthy lab is said to have a fault at any layer, first or after that."""
        return bool(self.blame)

    @property
    def blamed_without_cause(self) -> bool:
        """Whether a healthy lab is said to have a fault of which no cause is told for certain."""
        unsure = self.verdict.kind is VerdictKind.INCONCLUSIVE
        return self.blamed and all(unsure or s.cause in UNNAMED for s in self.blame)

    @property
    def wrong(self) -> bool:
        """Whether what is said first is not so. To say that one does not know is not wrong, unless what is then named
        all the same is ruled out; that all is well may be."""
        if self.forbidden(self.first):
            return True
        if not self.decided or self.right_cause or self.partly:
            return False
        return not (self.truth.is_natural(self.first) or (self.as_expected and not self.truth.limits))

    @property
    def wrong_confirmed(self) -> bool:
        """Whether an experiment is said to have confirmed it."""
        return self.wrong and self.first.holds is True

    @property
    def all_wrong(self) -> tuple[Said, ...]:
        """Every told finding that is not so, the first or a further one, and whatever the verdict itself says."""
        first = self.wrong or (self.truth.false(self.first) and not self.as_expected)
        return (*((self.first,) if first else ()), *(s for s in self.verdict.said[1:] if self.truth.false(s)))

    def forbidden(self, said: Said) -> bool:
        """Whether the truth rules it out: it is wrong at any confidence."""
        return said.cause not in UNNAMED and self.truth.ruled_out(said)

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


class OfALab(Protocol):
    """A kept case of whatever bench: what was put into which lab, and the stack that came of it."""

    @property
    def trial(self) -> Trial:
        """What was drawn."""

    @property
    def stack(self) -> Stack | None:
        """Of the lab; None where none was built."""


def truths(case: OfALab) -> Truth:
    """What is true of a case, by what was put in and felt."""
    setup = SETUPS[case.trial.setup]
    top = case.stack.layers[-1].name if case.stack else TOP
    limits = tuple(_limit(case, number, top) for number in range(len(case.trial.put)))
    natural = frozenset((top if layer == TOP else layer, cause) for layer, cause in setup.natural)
    return Truth(case.trial.kind, limits, natural)


def _limit(case: OfALab, number: int, top: str) -> Limit:
    setup, put = SETUPS[case.trial.setup], case.trial.put[number]
    truth = truth_of(put.what, case.trial.stack)
    named = (truth.layer, *truth.also)
    where = {top if name == TOP else setup.cells.get(name, name) for name in named}
    return Limit(
        put.what,
        frozenset(truth.must),
        frozenset(where),
        partly=frozenset(truth.partly),
        anywhere=truth.kind == "client",
        beside=frozenset(truth.beside),
        never=frozenset(truth.never),
    )


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
        refused=case.failed is not None and case.failed.startswith(REFUSED),
    )
