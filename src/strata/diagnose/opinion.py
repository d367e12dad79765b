"""What one rule says about one layer, and how sure it may be."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

from strata.diagnose.models import Fit
from strata.diagnose.view import View
from strata.model.finding import Cause, Evidence, FindingRow, RuledOut

CEILING, CEILING_CONFIRMED = 0.75, 0.97
UNCERTAIN = " This is not certain."
"""Ends the explanation of a finding that may not yet be a verdict."""


class Weight(IntEnum):
    """What kind of witness it is: what a counter shows directly comes before what a shape suggests."""

    SHOWN = 0
    SUGGESTED = 1


@dataclass(frozen=True)
class Opinion:
    """``holds`` True: the rule claims its cause; False: ``because`` excludes it (a clause; ``detail`` says where, and
    what else does); None: it cannot tell.

    ``cells`` are the keys of the workloads it accounts for, ``strength`` 0..1 how much of their loss it explains (of a
    cause that is excluded: how near it came to that), ``lead`` how much better than the best other cause, in the units
    of `Fit.total`. ``rows`` are the slow rows with what it predicts of them. ``model`` is the shape it predicts by,
    where it has one.

    ``alike``: something was seen that looks the same with any other workload: no experiment of that kind confirms it.

    ``adds``: other causes may take from the same rows beside it; they are asked what is left behind it.

    ``in_turns``: whoever serves waits for its turn, and then serves all that wait: at more depth up to as many more.

    Of what a layer shows by itself: ``layer`` is the one to be blamed and ``loss`` what it costs, as the mean −ln of
    what is left over the layer's workloads (0.7: half). Of a pair both are the pair's.
    """

    holds: bool | None = True
    because: str = ""
    title: str = ""
    explanation: str = ""
    next_step: str = ""
    cells: frozenset[str] = frozenset()
    strength: float = 0.0
    lead: float = 0.0
    evidence: tuple[Evidence, ...] = ()
    missing: tuple[str, ...] = ()
    weight: Weight = Weight.SUGGESTED
    layer: str = ""
    loss: float = 0.0
    rows: tuple[FindingRow, ...] = ()
    model: Fit | None = None
    adds: bool = False
    alike: bool = False
    in_turns: bool = False
    detail: str = ""
    cause: Cause = Cause.NONE
    """Of a rule's opinion it is the rule's own, put in where all are asked."""


def ruled_out(opinions: Iterable[Opinion]) -> list[RuledOut]:
    """Those that are excluded, first what most of the figure that excludes them spoke for."""
    out = sorted((o for o in opinions if o.holds is False), key=lambda o: -o.strength)
    return [RuledOut(cause=o.cause, because=o.because, detail=o.detail) for o in out]


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
    """How many half-widths (on logs) lie between the ratio and the allowed one, in the workload where it is the surest.

    The slowest workload may be the one whose figures scatter most.
    """
    apart = (math.log(p.comparison.line) - p.ratio_log for p in view.affected)
    sure = (one / (2 * p.sd) for one, p in zip(apart, view.affected, strict=True))
    return min(10.0, max(0.0, max(sure, default=0.0)))
