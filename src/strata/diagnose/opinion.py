"""What one rule says about one layer, and how sure it may be."""

from __future__ import annotations

import math
from dataclasses import dataclass

from strata.diagnose.models import Fit
from strata.diagnose.view import View
from strata.model.finding import Cause, Evidence, Experiment

LEAST_EXPLAINED = 0.75
MOST_PER_POINT = 3.0
CEILING, CEILING_CONFIRMED = 0.75, 0.97
UNCERTAIN = " This is not certain."
"""Ends the explanation of a finding that may not yet be a verdict."""


@dataclass(frozen=True)
class Opinion:
    """``holds`` True: the rule claims its cause; False: ``because`` excludes it; None: it cannot tell.

    ``cells`` are the keys of the workloads it accounts for, ``strength`` 0..1 how much of their loss it explains,
    ``lead`` how much better than the best other cause, in the units of `Fit.total`.
    """

    cause: Cause
    holds: bool | None
    because: str
    title: str = ""
    explanation: str = ""
    next_step: str = ""
    cells: frozenset[str] = frozenset()
    strength: float = 0.0
    lead: float = 0.0
    evidence: tuple[Evidence, ...] = ()
    experiment: Experiment | None = None
    missing: tuple[str, ...] = ()


@dataclass(frozen=True)
class Case:
    """A view with its fits, the best shape first: what every layer rule is given."""

    view: View
    fits: tuple[Fit, ...]

    @property
    def best(self) -> Fit:
        """The shape that explains most."""
        return self.fits[0]

    def shape(self, name: str) -> Fit:
        """The fit of one shape."""
        return next(f for f in self.fits if f.shape.value == name)

    def lead(self, *names: str) -> float:
        """How much better the best of these shapes is than the best of the others."""
        mine = min(f.total for f in self.fits if f.shape.value in names)
        other = min((f.total for f in self.fits if f.shape.value not in names), default=mine)
        return other - mine

    def acceptable(self, found: Fit) -> bool:
        """Whether a fit explains the loss and leaves no cell far from its prediction."""
        affected = {p.key for p in self.view.affected}
        return (
            found.explained >= LEAST_EXPLAINED and found.per_point <= MOST_PER_POINT and bool(affected & found.binding)
        )


def confidence(strength: float, lead: float, separation: float, kinds: int) -> float:
    """0..0.75 before an experiment; grows with each argument.

    0.75 · strength · (1 − ½e^(−lead/4)) · (1 − ½e^(−separation)) · (1 with two kinds of evidence, else 0.6):
    ``strength`` is the part of the loss explained, ``lead`` the distance to the next cause in chi-square units,
    ``separation`` the distance of the worst cell's interval from its allowance, in half-widths.
    """
    sure = CEILING * min(max(strength, 0.0), 1.0)
    sure *= 1 - 0.5 * math.exp(-max(lead, 0.0) / 4)
    sure *= 1 - 0.5 * math.exp(-max(separation, 0.0))
    return round(sure * (1.0 if kinds >= 2 else 0.6), 3)


def separation(view: View) -> float:
    """How many half-widths (on logs) lie between the worst cell's ratio and the allowed one."""
    worst = view.affected[0] if view.affected else None
    if worst is None:
        return 0.0
    line = math.log(1 - worst.comparison.allowance)
    return min(10.0, max(0.0, (line - worst.ratio_log) / (2 * worst.sd)))
